-- home: Name the database of a connection.
SELECT system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()) FROM pg_control_system()
