//! Segments of a cold tier in an object store that speaks S3.

use std::fmt::Display;
use std::ops::Range;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload, RetryConfig};

use super::StoreError;
use super::remote::{Remote, failed};
use super::tiered::Cold;
use crate::backend::ColdBackend;

/// Beside the segments: whose they are.
const MARK: &str = "owner";

/// See the [module](self).
pub struct S3 {
    remote: Remote,
    store: AmazonS3,
    prefix: String,
}

fn told(error: impl Display) -> StoreError {
    failed(format!("S3: {error}"))
}

impl S3 {
    /// Nothing is asked yet: a cold tier may be away.
    ///
    /// # Errors
    /// When the settings cannot be used.
    pub fn new(backend: &ColdBackend) -> Result<Self, StoreError> {
        // A program has one; another one that it has installed does as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let retry = RetryConfig { max_retries: 0, retry_timeout: backend.timeout, ..RetryConfig::default() };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&backend.bucket)
            .with_region(&backend.region)
            .with_retry(retry);
        if let Some(endpoint) = &backend.endpoint {
            builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
        }
        if let Some((key, secret)) = &backend.access {
            builder = builder.with_access_key_id(key).with_secret_access_key(secret);
        }
        let store = builder.build().map_err(told)?;
        Ok(Self { remote: Remote::new(backend.timeout)?, store, prefix: backend.prefix.clone() })
    }

    fn path(&self, name: &str) -> Path {
        Path::from(format!("{}/{name}", self.prefix))
    }

    /// Asks, unless it did not answer a moment ago.
    fn asked<T>(
        &mut self,
        work: impl AsyncFnOnce(&AmazonS3) -> Result<T, object_store::Error>,
    ) -> Result<T, StoreError> {
        self.remote.may_connect()?;
        let done = self.remote.run(async { work(&self.store).await.map_err(told) });
        self.remote.connected(done)
    }
}

impl Cold for S3 {
    fn put(&mut self, name: &str, octets: Vec<u8>) -> Result<(), StoreError> {
        let path = self.path(name);
        self.asked(async |store| store.put(&path, PutPayload::from(octets)).await.map(drop))
    }

    fn get(&mut self, name: &str, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let path = self.path(name);
        if range.is_empty() {
            return Ok(Vec::new());
        }
        self.asked(async |store| store.get_range(&path, range).await.map(|it| it.to_vec()))
    }

    fn remove(&mut self, name: &str) -> Result<(), StoreError> {
        let path = self.path(name);
        self.asked(async |store| match store.delete(&path).await {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            other => other,
        })
    }

    fn names(&mut self) -> Result<Vec<String>, StoreError> {
        let prefix = Path::from(self.prefix.as_str());
        let all = self.asked(async |store| store.list_with_delimiter(Some(&prefix)).await)?;
        let names = all.objects.iter().filter_map(|it| it.location.filename());
        Ok(names.filter(|name| name.ends_with(".mcap")).map(str::to_owned).collect())
    }

    fn mark(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(MARK);
        self.asked(async |store| match store.get(&path).await {
            Ok(found) => Ok(Some(found.bytes().await?.to_vec())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn claim(&mut self, mark: &[u8]) -> Result<Vec<u8>, StoreError> {
        let (path, octets) = (self.path(MARK), PutPayload::from(mark.to_vec()));
        self.asked(async |store| match store.put_opts(&path, octets, PutMode::Create.into()).await {
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(error),
        })?;
        // A server that knows no conditions has taken the last one that came.
        Ok(self.mark()?.unwrap_or_default())
    }
}
