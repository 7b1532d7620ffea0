"""What people see of a session: the board while it runs, its status, its report. All read one view (`values`)."""
