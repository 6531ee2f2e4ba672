//! Reading and producing through the rskafka client.
