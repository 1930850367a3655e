-- The bookings that the receipts are held against, and where what is read off the receipts goes.
CREATE TABLE booking (id INTEGER PRIMARY KEY, day TEXT NOT NULL, payee TEXT NOT NULL, amount NUMERIC NOT NULL);
CREATE TABLE receipt (path TEXT NOT NULL PRIMARY KEY ON CONFLICT REPLACE, text TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO booking (day, payee, amount) VALUES
  ('2026-11-03', 'Cafe Luna', 42.50),
  ('2026-11-05', 'Paper Point', 18.90),
  ('2026-11-09', 'Parking Norte', 6.00),
  ('2026-11-12', 'Hotel Mar', 120.00);
