"""`sources demo`: a community, an index and a bot at work, in a folder that is gone afterwards."""
