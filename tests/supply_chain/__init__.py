"""What Tellapart depends on: every package pinned, with a licence that allows its use, listed in the wheel."""
