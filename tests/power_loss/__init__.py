"""Power failures simulated: a recorder of what a process does to files, and disks as they may be after a failure."""
