-- The queue. Every statement of the workers is a function here, and each is one transaction.
-- A job is a row of exactly one table: of `jobs` until it ends, then of `results` or `failures`. Only the
-- clock of the server counts.

CREATE TABLE jobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  url text NOT NULL UNIQUE CHECK (url ~ '^https?://[^\s]+$'),
  sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  host text NOT NULL GENERATED ALWAYS AS (lower(substring(url from '//(?:[^/?#@]*@)?([^/?#@]+)'))) STORED,
  submitted_at timestamptz NOT NULL DEFAULT now(),
  -- From when on a worker can take the job. For a job that is being performed, this is the end of the
  -- lease: if the worker doesn't renew it, another one takes the job then.
  ready_at timestamptz NOT NULL DEFAULT now(),
  -- How often the job was taken. An attempt that has lost its lease has another number, and can't end
  -- the job anymore.
  attempts int NOT NULL DEFAULT 0,
  max_attempts int NOT NULL DEFAULT 10,
  last_error text
);
CREATE INDEX ON jobs (host, ready_at, id) WHERE attempts < max_attempts;
CREATE INDEX ON jobs (ready_at) WHERE attempts = max_attempts;

-- A row for each job that can be performed at the same time for a host, free when it has expired: this
-- limits the connections to a host, over all workers.
CREATE TABLE leases (
  host text,
  place int,
  expires_at timestamptz NOT NULL DEFAULT '-infinity',
  worker text,
  job bigint,
  attempt int,
  PRIMARY KEY (host, place)
);
CREATE INDEX ON leases (expires_at);

CREATE TABLE results (
  LIKE jobs, worker text NOT NULL, bytes bigint NOT NULL, ended_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (id), UNIQUE (url)
);

CREATE TABLE failures (
  LIKE jobs, reason text NOT NULL, ended_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (id), UNIQUE (url)
);

-- Ages are in seconds: of the oldest job, and of the longest wait of a job that a worker could take.
CREATE VIEW metrics AS SELECT
  (SELECT count(*) FROM jobs) AS jobs,
  (SELECT count(*) FROM jobs WHERE ready_at <= now()) AS ready,
  (SELECT count(*) FROM leases WHERE expires_at > now()) AS leases,
  (SELECT count(DISTINCT worker) FROM leases WHERE expires_at > now()) AS busy_workers,
  (SELECT extract(epoch FROM now() - min(submitted_at))::int FROM jobs) AS oldest_job,
  (SELECT extract(epoch FROM now() - min(ready_at))::int FROM jobs WHERE ready_at <= now()) AS longest_wait,
  (SELECT count(*) FROM results) AS results,
  (SELECT count(*) FROM failures) AS failures;

-- Adds the files of a list in the format of sha256sum, with URLs in place of names, and returns the number of
-- new jobs. A job that failed starts again. A host that is new gets its limit.
CREATE FUNCTION submit(_list text, _per_host int) RETURNS bigint LANGUAGE sql
BEGIN ATOMIC
  WITH lines AS (
    SELECT regexp_match(line, '^(\S*)\s*(.*?)\s*$') AS words FROM regexp_split_to_table(_list, '\n') AS line
      WHERE line ~ '\S'),
  again AS (DELETE FROM failures USING lines WHERE url = words[2]),
  added AS (
    INSERT INTO jobs (sha256, url)
      SELECT lower(words[1]), words[2] FROM lines
        WHERE NOT EXISTS (SELECT FROM results WHERE url = words[2])
      ON CONFLICT DO NOTHING RETURNING host),
  places AS (
    INSERT INTO leases (host, place) SELECT DISTINCT host, place FROM added, generate_series(1, _per_host) AS place
      ON CONFLICT DO NOTHING)
  SELECT count(*) FROM added, pg_notify('jobs', '') AS notified;
END;

-- Takes a job whose host has a free lease, that which was free for the longest time.
CREATE FUNCTION take(_worker text, _lease interval)
  RETURNS TABLE (id bigint, attempt int, url text, sha256 text) LANGUAGE sql
BEGIN ATOMIC
  WITH free AS (
    SELECT leases.host, leases.place, job.id FROM leases
      CROSS JOIN LATERAL (
        SELECT jobs.id FROM jobs
          WHERE jobs.host = leases.host AND ready_at <= now() AND attempts < max_attempts
          ORDER BY ready_at, jobs.id LIMIT 1 FOR UPDATE SKIP LOCKED) AS job
      WHERE expires_at <= now()
      ORDER BY expires_at LIMIT 1 FOR UPDATE OF leases SKIP LOCKED),
  taken AS (
    UPDATE jobs SET attempts = attempts + 1, ready_at = now() + _lease
      FROM free WHERE jobs.id = free.id RETURNING jobs.*),
  leased AS (
    UPDATE leases SET expires_at = taken.ready_at, worker = _worker, job = taken.id, attempt = taken.attempts
      FROM free, taken WHERE leases.host = free.host AND leases.place = free.place)
  SELECT taken.id, taken.attempts, taken.url, taken.sha256 FROM taken;
END;

-- Extends the leases of jobs, and returns the jobs that still have theirs. Ends those, of any worker, whose
-- last attempt has lost its lease.
CREATE FUNCTION renew(_jobs json, _lease interval) RETURNS TABLE (id bigint, attempt int) LANGUAGE sql
BEGIN ATOMIC
  WITH ended AS (
    DELETE FROM jobs WHERE ready_at <= now() AND attempts = max_attempts RETURNING *)
  INSERT INTO failures
    SELECT ended.*, concat_ws('; ', 'The worker disappeared.', last_error) FROM ended ON CONFLICT DO NOTHING;
  WITH held AS (
    UPDATE leases SET expires_at = now() + _lease
      FROM json_to_recordset(_jobs) AS mine (id bigint, attempt int) JOIN jobs ON jobs.id = mine.id
      WHERE leases.host = jobs.host AND leases.job = mine.id AND leases.attempt = mine.attempt
        AND jobs.attempts = mine.attempt
      RETURNING jobs.id, jobs.attempts)
  UPDATE jobs SET ready_at = now() + _lease FROM held
    WHERE jobs.id = held.id AND jobs.attempts = held.attempts RETURNING jobs.id, jobs.attempts;
END;

-- Ends a job, once, unless its attempt has lost the lease to another one.
CREATE FUNCTION finish(_job bigint, _attempt int, _worker text, _bytes bigint) RETURNS void LANGUAGE sql
BEGIN ATOMIC
  WITH ended AS (DELETE FROM jobs WHERE id = _job AND attempts = _attempt RETURNING *),
  freed AS (
    UPDATE leases SET expires_at = now(), worker = NULL FROM ended
      WHERE leases.host = ended.host AND leases.job = _job AND leases.attempt = _attempt)
  INSERT INTO results SELECT ended.*, _worker, _bytes FROM ended ON CONFLICT DO NOTHING;
END;

-- Returns a job to the queue, with a delay; without one, or after the last attempt, ends it as a failure.
CREATE FUNCTION fail(_job bigint, _attempt int, _reason text, _delay interval) RETURNS void LANGUAGE sql
BEGIN ATOMIC
  UPDATE jobs SET ready_at = now() + _delay, last_error = _reason
    WHERE id = _job AND attempts = _attempt AND attempts < max_attempts AND _delay IS NOT NULL;
  UPDATE leases SET expires_at = now(), worker = NULL WHERE job = _job AND attempt = _attempt;
  WITH ended AS (
    DELETE FROM jobs WHERE id = _job AND attempts = _attempt
      AND (attempts = max_attempts OR _delay IS NULL) RETURNING *)
  INSERT INTO failures SELECT ended.*, _reason FROM ended ON CONFLICT DO NOTHING;
END;
