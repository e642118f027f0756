"""`sources demo`: the program shown at work on real input, in a folder that is gone afterwards."""
