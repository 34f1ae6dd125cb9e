import { DatabaseSync } from "node:sqlite";
import { addValue, createHistogram, bucketOf, type Histogram } from "#protocol/history/histogram.ts";
import { NO_BUCKET, packMinute } from "#protocol/history/minute-bytes.ts";
import { randomFrom } from "#protocol/base/random-from.ts";
import { cellFor, kindOf, packRoll, type Cells } from "#protocol/history/roll-bytes.ts";

/**
 * Writes the history that a fleet would have left directly into the database of a stopped hub, because a month of reports would
 * take a month. Rates differ between nodes by a factor of 30 and between hours by a third. Every node moves data in two thirds
 * of its minutes, and ends a transfer every half hour.
 */

export interface Fill {
  nodes: number;
  days: number;
  /** Epoch ms of the present. */
  now: number;
}

/** Size of one kind of rows, by the growth of the file. */
export interface Growth {
  what: string;
  bytes: number;
  rows: number;
  /** Bytes a day: of one node, or of the whole fleet, whatever its size. */
  perDay: number;
  of: "node" | "fleet";
}

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ON_A_SHELF = 64;
const REGIONS = ["us-east", "us-west", "eu", "asia", ""];
const PROFILES = 4;
const VARIANTS = 12;
/** Kinds of histograms: live upload rate, transfer upload rate, live round trip. */
const KINDS = [kindOf("up", "live"), kindOf("up", "transfer"), kindOf("rtt", "live")] as const;

interface FilledNode {
  number: number;
  series: number;
  whole: number;
  rate: number;
  rtt: number;
}

const shelves = (nodes: readonly FilledNode[]): FilledNode[][] =>
  Array.from({ length: Math.ceil(nodes.length / ON_A_SHELF) }, (_, at) =>
    nodes.slice(at * ON_A_SHELF, (at + 1) * ON_A_SHELF),
  );

function histogramOf(random: () => number, middle: number, count: number): Histogram {
  const histogram = createHistogram();
  for (let value = 0; value < count; value++) addValue(histogram, middle * (1 + (random() - 0.5) / 1.5));
  return histogram;
}

/** Returns one row of histograms for each shelf, which is a group of nodes; with `hours` 1 for one hour. */
function bodiesOf(nodes: readonly FilledNode[], random: () => number, hours: number): Uint8Array[] {
  return shelves(nodes).map((shelf) => {
    const cells: Cells = new Map();
    for (const { series, rate, rtt } of shelf) {
      const values = [
        [rate, 40 * hours],
        [rate, 2 * hours],
        [rtt, 60 * hours],
      ] as const;
      for (const [at, [middle, count]] of values.entries()) {
        cellFor(cells, series, KINDS[at] ?? 0).histogram = histogramOf(random, middle, count);
      }
    }
    return packRoll(cells);
  });
}

export function fillHistory(file: string, fill: Fill, tell: (text: string) => void): Growth[] {
  const db = new DatabaseSync(file);
  db.exec("PRAGMA synchronous = OFF");
  const random = randomFrom(1);
  const size = (): number => {
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const { page_count: pages } = db.prepare("PRAGMA page_count").get() as { page_count: number };
    return pages * 4096;
  };
  const growth: Growth[] = [];
  const measured = (what: string, stretch: { days: number; of?: "fleet" }, work: () => number): void => {
    const before = size();
    db.exec("BEGIN");
    const rows = work();
    db.exec("COMMIT");
    const bytes = size() - before;
    const { days, of = "node" } = stretch;
    growth.push({ what, rows, bytes, of, perDay: bytes / days / (of === "node" ? fill.nodes : 1) });
    tell(`  ${what}: ${rows} rows, ${(bytes / 1e6).toFixed(1)} MB`);
  };

  const nodes = addNodes(db, fill, random);
  const wholes = [...new Set(nodes.map(({ whole }) => whole))];
  const hourNow = Math.floor(fill.now / HOUR);
  const dayNow = Math.floor(fill.now / DAY);
  const putRoll = db.prepare('INSERT INTO "HistoryRoll" ("level", "shelf", "stretch", "body") VALUES (?, ?, ?, ?)');
  const putStretches = (about: { level: number; stretches: readonly number[]; hours: number }): number => {
    const { level, stretches, hours } = about;
    const variants = Array.from({ length: hours === 1 ? VARIANTS : 2 }, () => bodiesOf(nodes, random, hours));
    let rows = 0;
    for (const stretch of stretches) {
      const bodies = variants[stretch % variants.length] ?? [];
      for (const [at, body] of bodies.entries()) putRoll.run(level, at + 1, stretch, body);
      const cells: Cells = new Map();
      for (const id of wholes) {
        for (const kind of KINDS) cellFor(cells, id, kind).histogram = histogramOf(random, 3e6, 200);
      }
      putRoll.run(level, 0, stretch, packRoll(cells));
      rows += bodies.length + 1;
    }
    return rows;
  };
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
  // A query about a month reads whole days, and hours only at its ends.
  const hours = [
    ...range((dayNow - fill.days) * 24 - 24, (dayNow - fill.days) * 24 + 24),
    ...range(dayNow * 24 - 24, hourNow),
  ];
  measured("hours of each node", { days: hours.length / 24 }, () =>
    putStretches({ level: 1, stretches: hours, hours: 1 }),
  );
  const days = range(dayNow - fill.days - 1, dayNow);
  measured("days of each node", { days: days.length }, () => putStretches({ level: 2, stretches: days, hours: 24 }));
  const minutes = range(Math.floor(fill.now / MINUTE) - 120, Math.floor(fill.now / MINUTE));
  measured("minutes of each node", { days: minutes.length / 1440 }, () => putMinutes(db, { nodes, minutes, random }));
  measured("minutes of all nodes", { days: minutes.length / 1440, of: "fleet" }, () => {
    for (const minute of minutes) {
      const cells: Cells = new Map();
      for (const id of wholes) {
        for (const kind of KINDS) cellFor(cells, id, kind).histogram = histogramOf(random, 3e6, 60);
      }
      putRoll.run(0, 0, minute, packRoll(cells));
    }
    return minutes.length;
  });
  measured("transfers", { days: 1 }, () => putRecords(db, { nodes, now: fill.now, random }));
  db.prepare('INSERT OR REPLACE INTO "HistoryMark" ("level", "through") VALUES (1, ?), (2, ?)').run(hourNow, dayNow);
  db.close();
  return growth;
}

function addNodes(db: DatabaseSync, fill: Fill, random: () => number): FilledNode[] {
  const at = fill.now;
  const facts = JSON.stringify({
    hostname: "node",
    platform: "linux",
    cpus: 16,
    memoryBytes: 1,
    gpu: null,
    labels: {},
    machineId: null,
    workerVersion: "0",
  });
  db.exec("BEGIN");
  const profile = db.prepare(
    `INSERT INTO "Profile" ("id", "version", "name", "provider", "bucket", "region", "prefix", "endpoint", "addressing", "accessKeyHint", "createdAt", "updatedAt") VALUES (?, 1, ?, ?, 'training', 'us-east-1', '', 'https://s3.example.com', 'path', 'hint', ?, ?)`,
  );
  const providers = ["aws", "r2", "b2", "storj"];
  for (let index = 0; index < PROFILES; index++) {
    profile.run(`profile-000${index}`, `profile ${index}`, providers[index] ?? "aws", at, at);
  }
  const series = db.prepare(
    'INSERT INTO "HistorySeries" ("node", "profileId", "provider", "bucketRegion", "nodeRegion", "engine", "wholeId") VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const whole = new Map<string, number>();
  for (let index = 0; index < PROFILES; index++) {
    for (const region of REGIONS) {
      const added = series.run(0, `profile-000${index}`, providers[index] ?? "aws", "us-east-1", region, "tidemark", 0);
      whole.set(`${index} ${region}`, Number(added.lastInsertRowid));
    }
  }
  const node = db.prepare(
    'INSERT INTO "Node" ("id", "name", "credentialHash", "profileId", "facts", "enrolledAt", "leftAt", "acceptedSeq") VALUES (?, ?, ?, ?, ?, ?, ?, 0)',
  );
  const numbered = db.prepare('INSERT INTO "HistoryNode" ("nodeId") VALUES (?)');
  const made = Array.from({ length: fill.nodes }, (_, index): FilledNode => {
    const id = `node-${String(index).padStart(8, "0")}`;
    const profileIndex = index % PROFILES;
    const region = REGIONS[index % REGIONS.length] ?? "";
    // The nodes have left: 10,000 nodes that fall silent at once would be another test.
    node.run(id, `gpu-${index}`, id, `profile-000${profileIndex}`, facts, at - 60 * DAY, at);
    const number = Number(numbered.run(id).lastInsertRowid);
    const wholeId = whole.get(`${profileIndex} ${region}`) ?? 0;
    const own = [`profile-000${profileIndex}`, providers[profileIndex] ?? "aws", "us-east-1", region, "tidemark"];
    const added = series.run(number, ...own, wholeId);
    const rate = 5e5 * 30 ** random();
    return { number, series: Number(added.lastInsertRowid), whole: wholeId, rate, rtt: 20 + 200 * random() };
  });
  db.exec("COMMIT");
  return made;
}

function putMinutes(
  db: DatabaseSync,
  about: { nodes: readonly FilledNode[]; minutes: readonly number[]; random: () => number },
): number {
  const { nodes, minutes, random } = about;
  const put = db.prepare('INSERT INTO "HistoryMinute" ("shelf", "minute", "body") VALUES (?, ?, ?)');
  const groups = shelves(nodes);
  for (const minute of minutes) {
    for (const [at, shelf] of groups.entries()) {
      const entries = shelf.map(({ series, rate, rtt }) => ({
        series,
        up: rate * random(),
        down: 0,
        atRiskBytes: 1e9 * random(),
        lossMs: 6e5 * random(),
        rttMs: rtt * (1 + random() / 3),
        upBucket: random() < 2 / 3 ? bucketOf(rate * (1 + random() / 3)) : NO_BUCKET,
        downBucket: NO_BUCKET,
        cpuPercent: 10 * random(),
      }));
      put.run(at + 1, minute, packMinute(entries));
    }
  }
  return minutes.length * groups.length;
}

/** Writes the transfers of the last day. */
function putRecords(
  db: DatabaseSync,
  about: { nodes: readonly FilledNode[]; now: number; random: () => number },
): number {
  const { nodes, now, random } = about;
  const put = db.prepare(
    `INSERT INTO "LinkRecord" ("at", "kind", "subjectId", "node", "seriesId", "run", "outcome", "fault", "rttMs", "up", "effective", "rampMs", "tookMs", "isSteady", "sizeBytes", "sentBytes", "parts", "partBytes", "connections", "retries") VALUES (?, 'upload', ?, ?, ?, 'llama-finetune-7', ?, ?, ?, ?, ?, 2500, 60000, 1, 5000000000, 5000000000, 597, 8388608, 12, 1)`,
  );
  const each = 48;
  for (let turn = 0; turn < each; turn++) {
    for (const { number, series, rate, rtt } of nodes) {
      const at = now - DAY + Math.floor(((turn + number / nodes.length) * DAY) / each);
      const failed = random() < 0.02;
      const id = `${String(turn).padStart(4, "0")}-6b1d-4e0c-a7e3-${String(number).padStart(12, "0")}`;
      const value = failed ? null : rate;
      put.run(
        at,
        `3f9a2c41-${id}`,
        number,
        series,
        failed ? "failed" : "done",
        failed ? "STALLED" : null,
        rtt,
        value,
        value,
      );
    }
  }
  return nodes.length * each;
}
