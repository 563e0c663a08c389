"""`make mutate`: change delivery/ and protocol/ in one small place at a time, and see that a test notices."""
