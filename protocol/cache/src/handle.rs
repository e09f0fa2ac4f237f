//! Instance handles (DDS 1.4 §2.2.2.1, HANDLE_NIL; RTPS 2.5 §9.6.4.8 KeyHash).

use dunlin_core::InstanceHandle;

/// The handle under which a reader shows the one instance of a topic without key. It is not HANDLE_NIL, because
/// `read_next_instance` starts from HANDLE_NIL and looks for greater handles.
pub const KEYLESS_INSTANCE: InstanceHandle = InstanceHandle([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

/// Stands for the key hash of sixteen zeros. A random value, so that no other key of practice has it as its hash.
const ZERO_KEY_INSTANCE: InstanceHandle = InstanceHandle([
    0xb3, 0x5e, 0xd1, 0x47, 0x8c, 0x02, 0xf9, 0x6a, 0x71, 0x9d, 0x28, 0xe4, 0x0f, 0xc6, 0x53, 0xba,
]);

/// The instance with this key hash. A key of zeros, such as the integer 0, hashes to sixteen zeros, which is
/// HANDLE_NIL; it gets a handle of its own.
#[must_use]
pub fn instance_handle(key_hash: [u8; 16]) -> InstanceHandle {
    let handle = InstanceHandle(key_hash);
    if handle.is_nil() { ZERO_KEY_INSTANCE } else { handle }
}

/// The key hash of an instance: the inverse of [`instance_handle`]. HANDLE_NIL is taken as the hash of zeros.
#[must_use]
pub fn key_hash(instance: InstanceHandle) -> [u8; 16] {
    if instance == ZERO_KEY_INSTANCE { [0; 16] } else { instance.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_the_nil_handle() {
        for hash in [[0; 16], [1; 16], KEYLESS_INSTANCE.0] {
            let handle = instance_handle(hash);
            assert!(!handle.is_nil());
            assert_eq!(key_hash(handle), hash);
        }
        assert_eq!(key_hash(InstanceHandle::NIL), [0; 16]);
        assert!(KEYLESS_INSTANCE > InstanceHandle::NIL);
    }
}
