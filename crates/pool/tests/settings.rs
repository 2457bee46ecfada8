//! Settings that move from backend to backend.

use crate::common::{Server, first, lease, me, until, value};
use pool::{Limits, Settings};

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_applied_changed_and_reset() {
    let server = Server::start().await;
    let pools = server.pools(Limits::default());
    let mut backend = lease(&pools).await.unwrap();
    let wanted = Settings::new([
        ("search_path", "\"it's\", public"),
        ("DateStyle", "SQL, DMY"),
        ("app.tenant", "back\\slash 'quoted'"),
        ("role", "pg_monitor"),
    ]);
    backend.apply(&wanted).await.unwrap();
    assert_eq!(
        value(&mut backend, "SHOW search_path").await,
        "\"it's\", public"
    );
    assert_eq!(
        value(&mut backend, "SHOW app.tenant").await,
        "back\\slash 'quoted'"
    );
    assert_eq!(
        value(&mut backend, "SELECT current_user").await,
        "pg_monitor"
    );
    assert_eq!(backend.parameters["DateStyle"], "SQL, DMY");
    backend
        .apply(&wanted.without("role").with("datestyle", "ISO, YMD"))
        .await
        .unwrap();
    assert_eq!(value(&mut backend, "SELECT current_user").await, "postgres");
    assert_eq!(value(&mut backend, "SHOW datestyle").await, "ISO, YMD");
    backend.apply(&Settings::empty()).await.unwrap();
    assert_eq!(
        value(&mut backend, "SHOW search_path").await,
        "\"$user\", public"
    );
    assert_eq!(value(&mut backend, "SHOW datestyle").await, "ISO, MDY");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_value_changes_nothing() {
    let server = Server::start().await;
    let pools = server.pools(Limits::default());
    let mut backend = lease(&pools).await.unwrap();
    let good = Settings::new([("work_mem", "8MB")]);
    backend.apply(&good).await.unwrap();
    assert!(
        backend
            .apply(
                &good
                    .with("work_mem", "16MB")
                    .with("timezone", "Atlantis/Poseidon")
            )
            .await
            .is_err()
    );
    assert_eq!(value(&mut backend, "SHOW work_mem").await, "8MB");
    assert_eq!(*backend.settings(), good);
}

#[tokio::test(flavor = "multi_thread")]
async fn proven_values_are_written_ahead() {
    let server = Server::start().await;
    let pools = server.pools(Limits::default());
    let mut one = lease(&pools).await.unwrap();
    let mut two = lease(&pools).await.unwrap();
    let wanted = Settings::new([("timezone", "Asia/Tokyo")]);
    one.apply_ahead(&wanted).await.unwrap();
    assert!(
        one.connection.output().is_empty(),
        "unknown here: it is asked"
    );
    two.apply_ahead(&wanted).await.unwrap();
    assert!(
        !two.connection.output().is_empty(),
        "known: it travels with the statement"
    );
    assert_eq!(value(&mut two, "SHOW timezone").await, "Asia/Tokyo");
    let role = Settings::new([("role", "pg_monitor")]);
    one.apply_ahead(&role).await.unwrap();
    two.apply_ahead(&role).await.unwrap();
    assert!(
        two.connection.output().is_empty(),
        "a role may be gone: it is asked"
    );
    // One that was written ahead and never settled is not given to anybody.
    two.apply_ahead(&wanted).await.unwrap();
    two.apply_ahead(&Settings::empty()).await.unwrap();
    let process = two.process_id();
    drop(two);
    assert_ne!(lease(&pools).await.unwrap().process_id(), process);
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_settings_of_others_are_unknown() {
    let server = Server::start().await;
    let pools = server.pools(Limits {
        backends_max: 1,
        ..Limits::default()
    });
    let tenant = Settings::new([("app.tenant", "7")]);
    let wait = std::time::Duration::from_secs(5);
    let mut backend = lease(&pools).await.unwrap();
    backend.apply(&tenant).await.unwrap();
    let process = backend.process_id();
    drop(backend);
    let again = pools
        .lease_for(first(), &me(), &tenant, wait)
        .await
        .unwrap();
    assert_eq!(again.process_id(), process);
    drop(again);
    let mut other = pools
        .lease_for(first(), &me(), &Settings::empty(), wait)
        .await
        .unwrap();
    assert_ne!(other.process_id(), process);
    let unknown = "SELECT current_setting('app.tenant', true) IS NULL";
    assert_eq!(value(&mut other, unknown).await, "t");
    other
        .simple("BEGIN; SET LOCAL app.tenant = 8; COMMIT")
        .await
        .unwrap();
    other.note_custom("app.tenant");
    assert_eq!(value(&mut other, unknown).await, "f");
    let waiting = pools.clone();
    let mut group = stdx::TaskGroup::new();
    group.spawn("waiter", async move {
        let settings = Settings::empty();
        let mut fresh = waiting
            .lease_for(first(), &me(), &settings, wait)
            .await
            .unwrap();
        value(&mut fresh, unknown).await
    });
    until(|| pools.status()[0].waiting == 1).await;
    drop(other);
    let finished = group.join_next().await.unwrap();
    assert_eq!(finished.outcome, stdx::Outcome::Returned("t".to_owned()));
}
