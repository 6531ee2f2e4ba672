-- What was done already. The primary key is what makes an effect happen once.
CREATE TABLE handled (
    effect     text        NOT NULL, -- what was done: several handlers, and several effects of one, share the table
    key        text        NOT NULL, -- for which record, or for which order
    content    text        NOT NULL, -- with what: to notice a key that comes again with something else
    handled_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (effect, key)
);
-- For the removal of old keys.
CREATE INDEX handled_by_age ON handled (handled_at);

-- The effect itself: a second row would be a second payment, and nothing here forbids it.
CREATE TABLE payments (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id text   NOT NULL,
    cents    bigint NOT NULL CHECK (cents > 0)
);
