/** A row of the reliability bar: a scenario and its pass criterion. */
export interface BarRow {
  readonly row: number;
  readonly scenario: string;
  readonly pass: string;
  /** Place of the proof when no fault class or measure covers it, in words of the product. */
  readonly elsewhere?: string;
}

export const BAR: readonly BarRow[] = [
  {
    row: 1,
    scenario: "All connections reset, outage of 0.1, 1, 10, 60 s, each way",
    pass: "completes; resends at most the parts in flight",
  },
  { row: 2, scenario: "Packets vanish for 30 s, each way", pass: "detected within the watchdog's time; completes" },
  {
    row: 3,
    scenario: "10 % of connections reset throughout 2 GB",
    pass: "completes at 70 % of the clean speed or more",
  },
  {
    row: 4,
    scenario: "Bodies stall at random offsets in 5 to 10 % of reads",
    pass: "completes; the part continues where it stopped",
  },
  { row: 5, scenario: "Bodies cut short, with and without a length", pass: "never accepted short" },
  { row: 6, scenario: "One byte flipped on the way, down and up", pass: "detected; only that part is repeated" },
  {
    row: 7,
    scenario: "SlowDown, 429, Retry-After for two minutes; every part failing several times",
    pass: "no failure; fewer requests at a time, then more again",
  },
  { row: 8, scenario: "Every odd status and code", pass: "each is handled according to its meaning" },
  {
    row: 9,
    scenario: "Answers lost or false: to Create, a part, Complete",
    pass: "the right final state each time, verified by HEAD, size and nonce",
  },
  {
    row: 10,
    scenario: "A portal or another server answers for the store",
    pass: "reported; never counts as success or as an empty listing",
  },
  {
    row: 11,
    scenario: "Range ignored, wrong Content-Range, object replaced in mid-restore",
    pass: "refused or started again; the old file stays intact",
  },
  {
    row: 12,
    scenario: "kill -9 at random points of an upload",
    pass: "always right after restart; at least 90 % of acknowledged parts kept",
  },
  {
    row: 13,
    scenario: "kill -9 at random points of a restore",
    pass: "the old file or the new one, never a mixture; continues from its journal",
  },
  { row: 14, scenario: "Asked to stop, with short and long windows", pass: "exits in time, the journal is right" },
  {
    row: 15,
    scenario: "A node is lost for good in mid-upload",
    pass: "another node restores the last committed checkpoint; parts are cleaned up",
    elsewhere:
      "`npm test`: e2e/process/run-program.test.ts (another machine continues from the newest safe checkpoint), fence.test.ts (unfinished checkpoints of the lost node are never offered), server/features/maintenance/janitor.test.ts (its parts are cleaned up)",
  },
  {
    row: 16,
    scenario: "Power cut: writes that were not synced are gone",
    pass: "the journal is readable; nothing unfinished is called done",
  },
  {
    row: 17,
    scenario: "Disk too small, disk fills during a restore",
    pass: "a clear message; continues when there is room",
  },
  {
    row: 18,
    scenario: "A source file cannot be read",
    pass: "that file fails with a clear message; the others continue",
  },
  {
    row: 19,
    scenario: "A file is changed, cut or replaced while it is sent",
    pass: "detected; never counts as consistent",
  },
  {
    row: 20,
    scenario: "Crash while a framework writes a checkpoint",
    pass: "an incomplete checkpoint is never captured as complete",
  },
  {
    row: 21,
    scenario: "Keys expire or are revoked in mid-transfer",
    pass: "a clear cause; with new keys the transfer continues",
  },
  { row: 22, scenario: "Clock two hours off, with and without Date", pass: "works, or says that the clock is wrong" },
  {
    row: 23,
    scenario: "Hub away, restarted, restored from a backup, lost",
    pass: "transfers continue; the state is restored",
    elsewhere:
      "`npm test`: e2e/process/hub-killed.test.ts (away and restarted), hub-backup.test.ts (restored from backups taken under load; database lost, everything read back from the bucket)",
  },
  { row: 24, scenario: "The store forgets the multipart upload", pass: "only that object starts again" },
  {
    row: 25,
    scenario: "Two writers of one key, the same command twice",
    pass: "one whole object; nothing is corrupted",
  },
  {
    row: 26,
    scenario:
      "Stores that deviate from S3: equal parts, 1000 parts, no checksum headers, strict signing, own order, no 100-continue, 1 s keep-alive",
    pass: "all work",
  },
  {
    row: 27,
    scenario: "Sizes around a part, thousands of small files, odd and hostile names",
    pass: "correct; hostile names are refused by name",
  },
  { row: 28, scenario: "2 Mbit/s up, 300 ms, 2 % loss", pass: "progress moves at least every 2 s; an honest ETA" },
  {
    row: 29,
    scenario: "512 MB of memory, one processor, slow disk",
    pass: "never out of memory; no false alarm of the watchdog",
  },
  {
    row: 30,
    scenario: "Secrets in logs; hostile keys, requests and pages",
    pass: "nothing is found",
    elsewhere:
      "the program's output is searched for secrets in every transfer above; `npm test`: e2e/process/canaries.test.ts (logs, streams, database, disk of the worker), and every line of docs/security.md names its test",
  },
  {
    row: 31,
    scenario: "The link is measured before work begins: 2 to 300 Mbit/s, 30 to 300 ms",
    pass: "rates within 10 % of the truth in at most 30 s",
  },
  {
    row: 32,
    scenario: "Checkpoint files made to harm a reader: altered real ones, garbage, false sizes",
    pass: "no crash, no hang; nothing is executed, nothing read past an end or a limit",
  },
  {
    row: 33,
    scenario: "10,000 files wait in a worker's queue",
    pass: "its ledger opens within 1 s, its memory grows by less than 50 MB, status answers within 200 ms",
  },
];
