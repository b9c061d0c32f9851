"""An HTTP service that translates: `limelight serve`."""
