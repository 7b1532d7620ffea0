"""The façade: `Leasehold` and the handles it gives out."""
