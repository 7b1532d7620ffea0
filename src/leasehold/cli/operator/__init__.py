"""Commands about the system: workers, queues, dead letters, deliveries, the database."""
