-- listen: Receive wake-ups.
LISTEN leasehold
