"""`sources check`: one probe per subsystem, each trying the real thing and changing nothing."""
