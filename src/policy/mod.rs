//! What each category of failure gets: retries, backoff, dead-letter topic, alert.
