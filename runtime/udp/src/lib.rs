//! UDP transport: v4 and v6, multicast, segmentation and receive offload.
