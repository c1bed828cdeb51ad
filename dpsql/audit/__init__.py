"""`dpsql audit`: dpsql attacks itself, on a synthetic twin of the owner's own policy."""
