"""End-to-end training: the backbone, a matcher and a captioner learn together from pixels kept on the device."""
