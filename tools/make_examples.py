#!/usr/bin/env python3
"""Make examples/shop anew: the binary logs of a small shop, written by a real MySQL.

    .venv/bin/python tools/make_examples.py

The SQL is below; names, amounts and the server's UUID are fixed, times are those of the run. Three files:

    binlog.000001   schema and catalogue: DDL, inserts, statements beside their rows; ends in ROTATE
    binlog.000002   a day of orders: inserts, updates, deletes, a savepoint, a tagged import; ends in ROTATE
    binlog.000003   the night after it: a compressed transaction, an altered table; ends in STOP
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from tests.live.servers import MySQLServer, short_temporary_folder  # noqa: E402

SHOP = ROOT / "examples" / "shop"
SERVER_UUID = "5b0a6d3e-2f1c-11f1-9c6a-0242ac120002"
OPTIONS = (
    "--server-id=7",
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    "--binlog-row-metadata=FULL",
    "--binlog-checksum=CRC32",
    "--default-time-zone=+00:00",
)
LARGEST = 200_000

SCHEMA = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE customers (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  email VARCHAR(120) NOT NULL UNIQUE,
  name VARCHAR(80) NOT NULL,
  country CHAR(2) CHARACTER SET ascii NOT NULL,
  newsletter BOOL NOT NULL DEFAULT FALSE,
  born DATE,
  created_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
);
CREATE TABLE products (
  sku CHAR(8) CHARACTER SET ascii NOT NULL PRIMARY KEY,
  title VARCHAR(120) NOT NULL,
  price DECIMAL(8,2) NOT NULL,
  stock SMALLINT NOT NULL,
  labels SET('new','sale','fragile','organic') NOT NULL DEFAULT '',
  attributes JSON
);
CREATE TABLE orders (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  status ENUM('cart','paid','shipped','returned') NOT NULL DEFAULT 'cart',
  total DECIMAL(10,2) NOT NULL DEFAULT 0,
  note TEXT,
  placed_at DATETIME(6),
  FOREIGN KEY (customer_id) REFERENCES customers (id)
);
CREATE TABLE order_lines (
  order_id BIGINT UNSIGNED NOT NULL,
  line TINYINT UNSIGNED NOT NULL,
  sku CHAR(8) CHARACTER SET ascii NOT NULL,
  quantity SMALLINT UNSIGNED NOT NULL,
  price DECIMAL(8,2) NOT NULL,
  PRIMARY KEY (order_id, line),
  FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
  FOREIGN KEY (sku) REFERENCES products (sku)
);
"""

FIRST_NAMES = (
    "Aylin",
    "Bruno",
    "Chiara",
    "Dmitri",
    "Élise",
    "Farid",
    "Greta",
    "Håkon",
    "Inés",
    "Jürgen",
    "Kaori",
    "Liam",
    "Mei",
    "Nuno",
    "Olga",
    "Priya",
)
LAST_NAMES = (
    "Andersson",
    "Böhm",
    "Costa",
    "Dubois",
    "Eriksen",
    "Ferrari",
    "García",
    "Hansen",
    "Ito",
    "Jansen",
    "Kowalski",
    "López",
    "Müller",
    "Novák",
)
COUNTRIES = ("AT", "CH", "DE", "DK", "ES", "FR", "IT", "JP", "NO", "PL", "PT", "SE")
THINGS = (
    "teapot",
    "mug",
    "bowl",
    "lantern",
    "basket",
    "candle",
    "notebook",
    "blanket",
    "vase",
    "clock",
    "stool",
    "lamp",
    "tray",
    "jar",
    "brush",
    "scarf",
)
COLOURS = ("white", "indigo", "olive", "amber")


def fill_catalogue(server: MySQLServer, choose: random.Random) -> list[tuple[str, int]]:
    """Products and customers; the statements are logged beside their rows. Returns each SKU and its price in cents."""
    server.execute("SET binlog_rows_query_log_events = ON")
    products = []
    for number, thing in enumerate(THINGS):
        rows = []
        for colour in COLOURS:
            sku, cents = f"{thing[:4].upper()}-{number:03d}"[:7] + colour[0], choose.randrange(390, 18900)
            attributes = json.dumps(
                {"colour": colour, "weight_g": choose.randrange(80, 4000), "tags": ["home", thing]}
            )
            label = choose.choice(["", "new", "sale", "new,organic", "fragile"])
            title = f"{colour.title()} {thing}"
            rows.append(
                f"('{sku}', '{title}', {cents / 100:.2f}, {choose.randrange(20, 60)}, '{label}', '{attributes}')"
            )
            products.append((sku, cents))
        server.execute(f"INSERT INTO products VALUES {', '.join(rows)}")
    for number in range(40):
        first, last = choose.choice(FIRST_NAMES), choose.choice(LAST_NAMES)
        born = f"'{choose.randrange(1948, 2006)}-{choose.randrange(1, 13):02d}-{choose.randrange(1, 29):02d}'"
        server.execute(
            "INSERT INTO customers (email, name, country, newsletter, born) VALUES"
            f" ('customer{number + 1}@example.com', '{first} {last}', '{choose.choice(COUNTRIES)}',"
            f" {choose.randrange(2)}, {choose.choice([born, born, 'NULL'])})"
        )
    server.execute("SET binlog_rows_query_log_events = OFF")
    return products


def place_order(server: MySQLServer, choose: random.Random, products: list[tuple[str, int]]) -> None:
    """One transaction: an order, its lines, the stock they take, the payment."""
    note = choose.choice(
        ["NULL", "NULL", "'Please ring twice'", "'ギフト包装でお願いします'", "'Geschenk 🎁'"]
    )
    server.execute("BEGIN")
    server.execute(
        f"INSERT INTO orders (customer_id, note, placed_at) VALUES ({choose.randrange(1, 41)}, {note}, NOW(6));"
        " SET @id = LAST_INSERT_ID()"
    )
    total = 0
    for line, (sku, cents) in enumerate(choose.sample(products, choose.randrange(1, 4)), 1):
        quantity = choose.choice([1, 1, 1, 2, 3])
        total += cents * quantity
        server.execute(
            f"INSERT INTO order_lines VALUES (@id, {line}, '{sku}', {quantity}, {cents / 100:.2f})"
        )
        server.execute(f"UPDATE products SET stock = stock - {quantity} WHERE sku = '{sku}'")
    server.execute(f"UPDATE orders SET status = 'paid', total = {total / 100:.2f} WHERE id = @id")
    server.execute("COMMIT")


def run_a_day(server: MySQLServer, choose: random.Random, products: list[tuple[str, int]]) -> None:
    for number in range(1, 46):
        place_order(server, choose, products)
        if number % 9 == 0:
            server.execute(
                f"UPDATE orders SET status = 'shipped' WHERE status = 'paid' AND id <= {number - 4}"
            )
    server.execute("DELETE FROM orders WHERE id = 13")
    server.execute("UPDATE orders SET status = 'returned' WHERE id IN (5, 8)")
    server.execute(
        "BEGIN; INSERT INTO customers (email, name, country) VALUES ('late@example.com', 'Zoë Lindqvist', 'SE');"
        " SAVEPOINT before_discount; UPDATE products SET price = 1 WHERE sku = 'TEAP-00w';"
        " ROLLBACK TO before_discount; UPDATE customers SET newsletter = TRUE WHERE email = 'late@example.com'; COMMIT"
    )
    server.execute(["SET gtid_next = 'AUTOMATIC:import'"])
    server.execute(
        "INSERT INTO customers (email, name, country, born) VALUES"
        " ('imported1@example.com', 'Ada Nowak', 'PL', '1990-12-10'), ('imported2@example.com', 'Sōta Mori', 'JP', NULL)"
    )
    server.execute(["SET gtid_next = 'AUTOMATIC'"])


def run_the_night(server: MySQLServer, choose: random.Random, products: list[tuple[str, int]]) -> None:
    server.execute("SET binlog_transaction_compression = ON")
    server.execute(
        "BEGIN; UPDATE products SET price = ROUND(price * 1.04, 2);"
        " UPDATE products SET labels = labels | 2 WHERE stock > 45;"
        " UPDATE customers SET newsletter = FALSE WHERE country IN ('CH', 'NO'); COMMIT"
    )
    server.execute("SET binlog_transaction_compression = OFF")
    server.execute("ALTER TABLE orders ADD COLUMN shipped_at DATETIME NULL AFTER placed_at")
    server.execute("UPDATE orders SET shipped_at = NOW() WHERE status = 'shipped' AND id <= 10")
    server.execute(
        "SET binlog_row_image = MINIMAL; UPDATE orders SET note = NULL WHERE id = 1; SET binlog_row_image = FULL"
    )
    for _ in range(6):
        place_order(server, choose, products)
    server.execute("DELETE FROM customers WHERE email LIKE 'imported%'")


def make(target: Path) -> None:
    choose = random.Random(9)
    with short_temporary_folder() as folder:
        server = MySQLServer(folder / "s", *OPTIONS)
        (server.data_dir / "auto.cnf").write_text(f"[auto]\nserver-uuid={SERVER_UUID}\n")
        server.start()
        try:
            server.execute(SCHEMA)
            products = fill_catalogue(server, choose)
            server.flush()
            run_a_day(server, choose, products)
            server.flush()
            run_the_night(server, choose, products)
            server.stop()
        finally:
            server.crash()
        target.mkdir(parents=True, exist_ok=True)
        for old in target.glob("binlog.*"):
            old.unlink()
        logs = server.binlogs()
        for log in logs:
            shutil.copyfile(log, target / log.name)
        (target / "binlog.index").write_text("".join(f"./{log.name}\n" for log in logs))
    size = sum(file.stat().st_size for file in target.glob("binlog.*"))
    if size > LARGEST:
        raise SystemExit(f"{size} bytes: more than the {LARGEST} that examples may have")
    print(f"{len(logs)} files, {size} bytes, written by MySQL {server.binaries.version}")


if __name__ == "__main__":
    make(SHOP)
