//! The back end in PostgreSQL: each commit is one transaction, which has ended when the server says that it lasts.

mod tls;

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

pub(crate) use tls::Tls;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Row, Transaction};

use super::folded::Folded;
use super::remote::{Remote, failed};
use super::{MAX_NOTE, NoteKey, Step, Store, StoreError, Visit, VisitNote, note_key, parse_note_key};
use crate::backend::PostgresBackend;
use crate::change::{GroupId, Head, Payload, Position};

/// The layout of the tables. A program refuses those with another one.
const LAYOUT: i64 = 1;
/// Rows that are read at a time.
const PAGE: i64 = 10_000;
/// Values that are read ahead at a time: so many, and so many octets.
const AHEAD: (i64, i64) = (512, 4 << 20);
/// Octets of values in one statement.
const STATEMENT: usize = 16 << 20;

/// Between two looks whether the server has ended a session.
const ENDING: Duration = Duration::from_millis(50);

/// A session, which holds the lock on the tables as long as it lasts.
struct Session {
    client: Client,
    tables: String,
}

/// What is known of those who had the tables.
#[derive(Clone, PartialEq, Eq)]
struct Last {
    /// Which one of them this is.
    owner: i64,
    /// The session in which it had them last, as the server names it.
    session: Process,
}

/// A process of the server, and when it began: numbers of processes come again.
#[derive(Clone, PartialEq, Eq)]
struct Process {
    number: i32,
    began: String,
}

/// See the [module](crate::store).
pub struct PostgresStore {
    remote: Remote,
    reach: Reach,
    session: Option<Session>,
    last: Option<Last>,
    ahead: BTreeMap<Position, Payload>,
}

/// What the server says, in one line.
fn told(error: &tokio_postgres::Error) -> StoreError {
    let why = match error.as_db_error() {
        Some(it) => format!("{}: {}", it.severity(), it.message()),
        None => error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}")),
    };
    failed(format!("PostgreSQL: {}", why.replace(char::is_control, " ")))
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(what.into())
}

impl PostgresStore {
    /// Connects, and makes the tables if they are not there.
    ///
    /// # Errors
    /// When the server cannot be reached, refuses, or loses what it confirms; when another service has the tables.
    pub fn open(backend: &PostgresBackend) -> Result<Self, StoreError> {
        let settings = backend.settings().map_err(failed)?;
        let tls = backend.tls().map_err(failed)?;
        let (schema, timeout) = (backend.schema.clone(), backend.timeout);
        let mut store = Self {
            remote: Remote::new(timeout)?,
            reach: Reach { settings, tls, schema, timeout },
            session: None,
            last: None,
            ahead: BTreeMap::new(),
        };
        store.connected()?;
        Ok(store)
    }

    /// A session: the one there is, or a new one unless it is too early to try again.
    fn connected(&mut self) -> Result<&mut Session, StoreError> {
        if self.session.as_ref().is_none_or(|session| session.client.is_closed()) {
            self.session = None;
            self.remote.may_connect()?;
            let begun = self.remote.run(begin(&self.reach, self.last.as_ref()));
            let (session, last) = self.remote.connected(begun)?;
            self.last = Some(last);
            self.ahead.clear();
            self.session = Some(session);
        }
        self.session.as_mut().ok_or_else(|| failed("PostgreSQL: there is no session"))
    }

    /// Does something in a session. What has failed leaves the session in no known state: the next call begins another one.
    fn with<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Session) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, StoreError> {
        self.connected()?;
        let Some(mut session) = self.session.take() else {
            return Err(failed("PostgreSQL: there is no session"));
        };
        let done = self.remote.run(async { work(&mut session).await.map_err(|error| told(&error)) });
        if done.is_ok() {
            self.session = Some(session);
        }
        done
    }

    /// Rows of a table in the order of their first column, page by page.
    fn pages<K: ToSql + Sync + Clone>(
        &mut self,
        (what, key, of): (&str, &str, Type),
        before: K,
        mut each: impl FnMut(&Row) -> Result<K, StoreError>,
    ) -> Result<(), StoreError> {
        let mut last = before;
        loop {
            let from = last.clone();
            let of = of.clone();
            let rows = self.with(async |session| {
                let text = format!(
                    "SELECT {what} FROM {}.{} WHERE {key} > $1 ORDER BY {key} LIMIT {PAGE}",
                    session.tables,
                    table_of(what)
                );
                session.client.query_typed(&text, &[(&from, of)]).await
            })?;
            for row in &rows {
                last = each(row)?;
            }
            if (rows.len() as i64) < PAGE {
                return Ok(());
            }
        }
    }
}

/// The table that has some columns.
fn table_of(what: &str) -> &'static str {
    if what.contains("head") { "changes" } else { "notes" }
}

/// The name of a schema as SQL has it. Configurations allow nothing in it that would have to be escaped.
fn quoted(schema: &str) -> String {
    format!("\"{}\"", schema.replace('"', "\"\""))
}

/// How the server is reached, and what of it.
struct Reach {
    settings: tokio_postgres::Config,
    tls: Option<Tls>,
    schema: String,
    timeout: Duration,
}

impl Reach {
    async fn connect(&self) -> Result<Client, tokio_postgres::Error> {
        // The end of a connection is noticed by what waits for an answer.
        match &self.tls {
            Some(tls) => {
                let (client, connection) = self.settings.connect(tls.clone()).await?;
                tokio::spawn(async move { drop(connection.await) });
                Ok(client)
            }
            None => {
                let (client, connection) = self.settings.connect(NoTls).await?;
                tokio::spawn(async move { drop(connection.await) });
                Ok(client)
            }
        }
    }
}

/// Connects, takes the lock, and looks who had the tables last.
async fn begin(reach: &Reach, last: Option<&Last>) -> Result<(Session, Last), StoreError> {
    let sql = |error| told(&error);
    let mut client = reach.connect().await.map_err(sql)?;
    lasts(&client).await?;
    notices(&client, reach.timeout).await.map_err(sql)?;
    lock(&client, reach, last).await?;
    let session = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()";
    let session = process(&client.query_typed_one(session, &[]).await.map_err(sql)?)?;
    let tables = quoted(&reach.schema);
    let transaction = client.transaction().await.map_err(sql)?;
    let owner = prepare(&transaction, &tables, last.map(|last| last.owner)).await?;
    transaction.commit().await.map_err(sql)?;
    Ok((Session { client, tables }, Last { owner, session }))
}

/// Has the server notice soon that this session was cut, so that another one finds the lock free. It knows hours otherwise.
async fn notices(client: &Client, timeout: Duration) -> Result<(), tokio_postgres::Error> {
    let seconds = timeout.as_secs().clamp(1, 60);
    let settings = format!(
        "SET tcp_keepalives_idle = {seconds}; SET tcp_keepalives_interval = {seconds}; SET tcp_keepalives_count = 3;
         SET tcp_user_timeout = {}",
        seconds * 4000
    );
    client.batch_execute(&settings).await
}

/// Takes the lock on the tables. A session of this store that was cut may still have it, as the server does not know that it was
/// cut: it is ended. So none of its transactions can come behind what the new one commits.
async fn lock(client: &Client, reach: &Reach, last: Option<&Last>) -> Result<(), StoreError> {
    let sql = |error| told(&error);
    let schema: (&(dyn ToSql + Sync), Type) = (&reach.schema, Type::TEXT);
    loop {
        let take = "SELECT pg_try_advisory_lock(1146441294, hashtext($1))";
        if client.query_typed_one(take, &[schema.clone()]).await.map_err(sql)?.try_get(0).map_err(sql)? {
            return Ok(());
        }
        let holder = client.query_typed(HOLDER, &[schema.clone()]).await.map_err(sql)?;
        // None if it was given up in this moment.
        if let Some(row) = holder.first() {
            let process = process(row)?;
            if last.is_none_or(|last| last.session != process) {
                return Err(failed(format!(
                    "PostgreSQL: another service has the tables of the schema {} (process {} of the server, since {}, for {})",
                    reach.schema,
                    process.number,
                    process.began,
                    row.try_get::<_, &str>(2).map_err(sql)?
                )));
            }
            let end = "SELECT pg_terminate_backend($1)";
            client.query_typed(end, &[(&process.number, Type::INT4)]).await.map_err(sql)?;
        }
        tokio::time::sleep(ENDING).await;
    }
}

/// Who has the lock. Of another user's session no times and addresses are told.
const HOLDER: &str = "SELECT pid, coalesce(backend_start::text, 'an unknown time'), coalesce(client_addr::text, 'an unknown address')
    FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND classid = 1146441294 AND objid::bigint = hashtext($1)::bigint & 4294967295 AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

fn process(row: &Row) -> Result<Process, StoreError> {
    let get = |error| told(&error);
    Ok(Process { number: row.try_get(0).map_err(get)?, began: row.try_get(1).map_err(get)? })
}

/// What the server confirms is to last.
async fn lasts(client: &Client) -> Result<(), StoreError> {
    let sql = |error| told(&error);
    let setting = "SELECT current_setting('fsync'), current_setting('synchronous_commit')";
    let row = client.query_typed_one(setting, &[]).await.map_err(sql)?;
    let setting = |at| row.try_get::<_, String>(at).map_err(sql);
    if setting(0)? != "on" {
        return Err(failed("PostgreSQL: it runs with fsync = off: nothing that it confirms would last"));
    }
    if setting(1)? == "off" {
        client.batch_execute("SET synchronous_commit = on").await.map_err(sql)?;
    }
    Ok(())
}

/// Makes the tables if they are not there. Returns the number of the owner, which is new if there was none.
async fn prepare(transaction: &Transaction<'_>, tables: &str, owner: Option<i64>) -> Result<i64, StoreError> {
    let sql = |error| told(&error);
    let found = "SELECT to_regclass($1) IS NOT NULL";
    let format = format!("{tables}.format");
    let found = transaction.query_typed_one(found, &[(&format, Type::TEXT)]).await.map_err(sql)?;
    if !found.try_get::<_, bool>(0).map_err(sql)? {
        let make = format!(
            "CREATE SCHEMA IF NOT EXISTS {tables};
             CREATE TABLE {tables}.format (layout bigint NOT NULL, owner bigint NOT NULL);
             CREATE TABLE {tables}.groups (id bigint PRIMARY KEY, description bytea NOT NULL);
             CREATE TABLE {tables}.changes (position bigint PRIMARY KEY, head bytea NOT NULL, octets bigint NOT NULL, payload bytea NOT NULL);
             CREATE TABLE {tables}.notes (key bytea PRIMARY KEY, note bytea NOT NULL);
             INSERT INTO {tables}.format VALUES ({LAYOUT}, 0);"
        );
        transaction.batch_execute(&make).await.map_err(sql)?;
    }
    let read = format!("SELECT layout, owner FROM {tables}.format FOR UPDATE");
    let row = transaction.query_typed_one(&read, &[]).await.map_err(sql)?;
    let (layout, last): (i64, i64) = (row.try_get(0).map_err(sql)?, row.try_get(1).map_err(sql)?);
    if layout != LAYOUT {
        return Err(failed(format!("its tables have layout {layout}, and this program reads {LAYOUT}")));
    }
    match owner {
        Some(owner) if owner == last => Ok(owner),
        Some(_) => Err(failed("PostgreSQL: another service has had the tables meanwhile: start anew")),
        None => {
            let next = format!("UPDATE {tables}.format SET owner = owner + 1");
            transaction.execute_typed(&next, &[]).await.map_err(sql)?;
            Ok(last + 1)
        }
    }
}

fn number(position: Position) -> i64 {
    // Positions count what was written: 63 bits are enough.
    i64::try_from(position).unwrap_or(i64::MAX)
}

fn position(number: i64) -> Result<Position, StoreError> {
    Position::try_from(number).map_err(|_| damaged("a position is negative"))
}

/// A table as a commit changes it: rows to set, and keys to remove.
struct Rows<K> {
    set: Vec<(K, Vec<u8>)>,
    removed: Vec<K>,
}

impl<K> Rows<K> {
    fn of<'s, Q>(all: impl Iterator<Item = (Q, Option<&'s [u8]>)>, key: impl Fn(Q) -> K) -> Self {
        let mut rows = Self { set: Vec::new(), removed: Vec::new() };
        for (of, value) in all {
            match value {
                Some(value) => rows.set.push((key(of), value.to_vec())),
                None => rows.removed.push(key(of)),
            }
        }
        rows
    }
}

/// Sets and removes rows of a table with two columns.
async fn write_rows<K: ToSql + Sync + Clone>(
    transaction: &Transaction<'_>,
    rows: Rows<K>,
    (table, key, value, keys): (&str, &str, &str, Type),
) -> Result<(), tokio_postgres::Error> {
    if !rows.set.is_empty() {
        let (of, values): (Vec<K>, Vec<Vec<u8>>) = rows.set.into_iter().unzip();
        let kind = if keys == Type::INT8_ARRAY { "bigint[]" } else { "bytea[]" };
        let text = format!(
            "INSERT INTO {table} ({key}, {value}) SELECT * FROM unnest($1::{kind}, $2::bytea[]) ON CONFLICT ({key}) DO UPDATE SET {value} = excluded.{value}"
        );
        transaction.execute_typed(&text, &[(&of, keys.clone()), (&values, Type::BYTEA_ARRAY)]).await?;
    }
    if !rows.removed.is_empty() {
        let text = format!("DELETE FROM {table} WHERE {key} = ANY($1)");
        transaction.execute_typed(&text, &[(&rows.removed, keys)]).await?;
    }
    Ok(())
}

/// Changes that go into one statement.
#[derive(Default)]
struct Values<'s> {
    positions: Vec<i64>,
    heads: Vec<Vec<u8>>,
    lengths: Vec<i64>,
    payloads: Vec<&'s [u8]>,
    octets: usize,
}

impl Values<'_> {
    async fn write(
        &mut self,
        transaction: &Transaction<'_>,
        tables: &str,
    ) -> Result<(), tokio_postgres::Error> {
        if self.positions.is_empty() {
            return Ok(());
        }
        let text = format!(
            "INSERT INTO {tables}.changes (position, head, octets, payload)
             SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bytea[])
             ON CONFLICT (position) DO UPDATE SET head = excluded.head, octets = excluded.octets, payload = excluded.payload"
        );
        let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
            (&self.positions, Type::INT8_ARRAY),
            (&self.heads, Type::BYTEA_ARRAY),
            (&self.lengths, Type::INT8_ARRAY),
            (&self.payloads, Type::BYTEA_ARRAY),
        ];
        transaction.execute_typed(&text, &parameters).await?;
        *self = Self::default();
        Ok(())
    }
}

async fn write_changes(
    transaction: &Transaction<'_>,
    tables: &str,
    folded: &Folded<'_>,
) -> Result<(), tokio_postgres::Error> {
    let (mut values, mut removed) = (Values::default(), Vec::new());
    for (position, change) in &folded.changes {
        let Some((head, payload)) = change else {
            removed.push(number(*position));
            continue;
        };
        values.positions.push(number(*position));
        values.heads.push(head.encode().to_vec());
        values.lengths.push(payload.len() as i64);
        values.payloads.push(payload);
        values.octets += payload.len();
        if values.octets >= STATEMENT {
            values.write(transaction, tables).await?;
        }
    }
    values.write(transaction, tables).await?;
    if !removed.is_empty() {
        let text = format!("DELETE FROM {tables}.changes WHERE position = ANY($1)");
        transaction.execute_typed(&text, &[(&removed, Type::INT8_ARRAY)]).await?;
    }
    Ok(())
}

impl Store for PostgresStore {
    fn groups(&mut self) -> Result<Vec<(GroupId, Vec<u8>)>, StoreError> {
        let rows = self.with(async |session| {
            let text = format!("SELECT id, description FROM {}.groups ORDER BY id", session.tables);
            session.client.query_typed(&text, &[]).await
        })?;
        let mut groups = Vec::new();
        for row in rows {
            let (id, description): (i64, Vec<u8>) = columns(&row)?;
            let id = GroupId::try_from(id).map_err(|_| damaged("a group has no sound number"))?;
            if description.len() > MAX_NOTE {
                return Err(damaged("the description of a group is too long"));
            }
            groups.push((id, description));
        }
        Ok(groups)
    }

    fn scan(&mut self, visit: Visit<'_>) -> Result<(), StoreError> {
        self.pages(("position, head", "position", Type::INT8), -1i64, |row| {
            let (at, head): (i64, Vec<u8>) = columns(row)?;
            let head = Head::decode(&head).ok_or_else(|| damaged("a change has no sound head"))?;
            visit(position(at)?, head)?;
            Ok(at)
        })
    }

    fn notes(&mut self, visit: VisitNote<'_>) -> Result<(), StoreError> {
        self.pages(("key, note", "key", Type::BYTEA), Vec::new(), |row| {
            let (octets, note): (Vec<u8>, Vec<u8>) = columns(row)?;
            let key = parse_note_key(&octets).ok_or_else(|| damaged("a note has no sound key"))?;
            visit(key, &note)?;
            Ok(octets)
        })
    }

    fn read(&mut self, wanted: Position) -> Result<Option<Payload>, StoreError> {
        if let Some(payload) = self.ahead.get(&wanted) {
            return Ok(Some(payload.clone()));
        }
        let from = number(wanted);
        let rows = self.with(async |session| {
            let text = format!(
                "SELECT position, payload FROM (SELECT position, payload, sum(octets) OVER (ORDER BY position) AS sum
                 FROM (SELECT position, payload, octets FROM {}.changes WHERE position >= $1 ORDER BY position LIMIT {}) AS first) AS summed
                 WHERE sum <= {} OR position = $1 ORDER BY position",
                session.tables, AHEAD.0, AHEAD.1
            );
            session.client.query_typed(&text, &[(&from, Type::INT8)]).await
        })?;
        self.ahead.clear();
        for row in rows {
            let at: i64 = row.try_get(0).map_err(|error| told(&error))?;
            let payload: &[u8] = row.try_get(1).map_err(|error| told(&error))?;
            self.ahead.insert(position(at)?, Payload::copy_from(payload));
        }
        Ok(self.ahead.get(&wanted).cloned())
    }

    fn commit(&mut self, steps: &[Step]) -> Result<(), StoreError> {
        let folded = Folded::of(steps);
        self.with(async |session| {
            let Session { client, tables } = session;
            let transaction = client.transaction().await?;
            let groups = Rows::of(folded.groups.iter().map(|(id, it)| (*id, *it)), i64::from);
            let table = format!("{tables}.groups");
            write_rows(&transaction, groups, (&table, "id", "description", Type::INT8_ARRAY)).await?;
            write_changes(&transaction, tables, &folded).await?;
            let notes = Rows::of(folded.notes.iter().map(|(key, it)| (*key, *it)), |key: NoteKey| {
                note_key(key).to_vec()
            });
            let table = format!("{tables}.notes");
            write_rows(&transaction, notes, (&table, "key", "note", Type::BYTEA_ARRAY)).await?;
            transaction.commit().await
        })?;
        for position in folded.changes.keys() {
            self.ahead.remove(position);
        }
        Ok(())
    }
}

fn columns<'r, A, B>(row: &'r Row) -> Result<(A, B), StoreError>
where
    A: tokio_postgres::types::FromSql<'r>,
    B: tokio_postgres::types::FromSql<'r>,
{
    let get = |error| told(&error);
    Ok((row.try_get(0).map_err(get)?, row.try_get(1).map_err(get)?))
}
