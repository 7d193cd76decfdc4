"""The papers' experiments: as data, one file per paper, and what runs, judges and reports them."""
