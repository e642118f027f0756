"""The embedded engine: the index file itself.

`engine` has the view of one transaction, `words` ranks by words and `common` looks at those that are too common to be
read, `asked` holds what is asked for; `catalogue` answers what is known beside chunks. Vectors are ranked in
`index.store.vectors`.
"""
