"""The embedded engine: the index file itself.

`engine` has the view of one transaction, `beside` the second connection, on which vectors are ranked meanwhile.
`words` ranks by words: `asked` holds what is asked for, `common` looks at words that are too common to be read,
`texts` counts those in texts, `rarity` judges how rare a word is, `sums` and `arrays` add up, `statistics` has what
stays between questions. Vectors are ranked in `index.store.nearest`; `catalogue` answers what is known beside chunks.
"""
