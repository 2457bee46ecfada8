-- What every client finds at its start. Loaded once into each target.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN email AS text CHECK (VALUE LIKE '%@%');
CREATE TABLE accounts (
    id bigint PRIMARY KEY,
    name text NOT NULL,
    balance numeric(12, 2) NOT NULL DEFAULT 0,
    born date,
    token uuid,
    raw bytea,
    tags text[],
    doc jsonb,
    mood mood,
    mail email,
    seen timestamptz
);
CREATE TABLE entries (
    account_id bigint NOT NULL REFERENCES accounts (id),
    id bigint NOT NULL,
    amount numeric(12, 2) NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE TABLE countries (code text PRIMARY KEY, name text NOT NULL);
CREATE TABLE notes (id bigserial PRIMARY KEY, body text);
