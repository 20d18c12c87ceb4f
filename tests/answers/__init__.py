"""What the command line answers: as in 0.1.0 in form, as recorded in substance."""
