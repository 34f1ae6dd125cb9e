import type { LintFinding } from "#protocol/wire/profiles.ts";
import type { Provider } from "#protocol/base/provider.ts";
import { formatBytes } from "#protocol/base/units.ts";
import { readCount, readSize } from "./rclone-sizes.ts";

/**
 * Finds common mistakes in rclone flags, with data and pure rules. Each finding says what is wrong, why, and what to use.
 * Only values read as numbers are repeated, because a flag may contain a key.
 */

export interface RcloneSettings {
  /** By flag name without dashes; null for a flag without a value. */
  flags: ReadonlyMap<string, string | null>;
  provider: Provider;
  /** rclone command, such as `copy`; empty when there is only a configuration. */
  verb: string;
}

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** rclone's defaults, see backend/s3/s3.go and fs/config.go. */
const DEFAULTS = { transfers: 4, concurrency: 4, chunkBytes: 5 * MIB, streams: 4 };
/** Measured on Storj: more parts in flight add nothing (https://docs.storj.io/dcs/how-tos/hotrodding-uploads-and-downloads). */
const MOST_IN_FLIGHT = 96;
const MUCH_MEMORY = 2 * GIB;
const STORJ_SEGMENT = 64 * MIB;
/** A part of 5 MiB takes 0.4 s at 100 Mbit/s, so the round trip dominates with smaller parts than this. */
const SMALL_CHUNK = 16 * MIB;
/** S3 allows 10,000 parts per object. */
const MOST_PARTS = 10_000;

interface Numbers {
  transfers: number;
  concurrency: number;
  chunkBytes: number;
}

const flag = (name: string): string => `--${name}`;

function numbersOf({ flags }: RcloneSettings): Numbers {
  const count = (name: string): number | null => readCount(flags.get(name) ?? "");
  const upload = count("s3-upload-concurrency") ?? DEFAULTS.concurrency;
  return {
    transfers: count("transfers") ?? DEFAULTS.transfers,
    // rclone uses the larger value since 1.64 (fs/operations/multithread.go).
    concurrency: Math.max(upload, count("multi-thread-streams") ?? 0),
    chunkBytes: readSize(flags.get("s3-chunk-size") ?? "") ?? DEFAULTS.chunkBytes,
  };
}

/** Estimates an upload's memory with rclone's own formula, https://rclone.org/s3/#multipart-uploads. */
function lintMemory(settings: RcloneSettings): LintFinding[] {
  const { transfers, concurrency, chunkBytes } = numbersOf(settings);
  const bytes = transfers * concurrency * chunkBytes;
  const sum = `${transfers} × ${concurrency} × ${formatBytes(chunkBytes)} = ${formatBytes(bytes)}`;
  const findings: LintFinding[] = [];
  findings.push(
    bytes >= MUCH_MEMORY
      ? {
          what: "--transfers, --s3-upload-concurrency, --s3-chunk-size",
          why: `Uploads keep every part in memory while it is sent: transfers × concurrency × chunk size, here ${sum}.`,
          use: "Lower one of the three until it fits beside the training; for one large file --transfers 1 is enough.",
          weight: "doubtful",
        }
      : {
          what: "memory",
          why: `Uploads keep every part in memory while it is sent: transfers × concurrency × chunk size, here ${sum}.`,
          use: "Nothing to change.",
          weight: "note",
        },
  );
  if (transfers * concurrency > MOST_IN_FLIGHT) {
    findings.push({
      what: "--transfers, --s3-upload-concurrency",
      why: `${transfers * concurrency} parts in flight: beyond about ${MOST_IN_FLIGHT} nothing gets faster, and stores begin to refuse.`,
      use: `Keep transfers × concurrency at ${MOST_IN_FLIGHT} or less.`,
      weight: "doubtful",
    });
  }
  return findings;
}

function lintChunk(settings: RcloneSettings): LintFinding[] {
  const written = settings.flags.get("s3-chunk-size") ?? null;
  const { chunkBytes, concurrency } = numbersOf(settings);
  if (written !== null && readSize(written) === null) {
    return [{ what: flag("s3-chunk-size"), why: "This is no size.", use: "--s3-chunk-size 64M", weight: "wrong" }];
  }
  // rclone reads a bare number as KiB (https://rclone.org/docs/#size-options): 64 is 64 KiB, 67108864 is 64 GiB.
  const isBare = written !== null && /^\d+$/.test(written);
  if (chunkBytes < 5 * MIB || chunkBytes > 5 * GIB) {
    return [
      {
        what: flag("s3-chunk-size"),
        why: `${isBare ? "A number without a unit is KiB. " : ""}${formatBytes(chunkBytes)} is outside what S3 takes: 5 MiB to 5 GiB.`,
        use: "--s3-chunk-size 64M",
        weight: "wrong",
      },
    ];
  }
  if (settings.provider === "storj" && chunkBytes % STORJ_SEGMENT !== 0) {
    return [
      {
        what: flag("s3-chunk-size"),
        why: `Storj cuts and bills by segments of 64 MiB; parts of ${formatBytes(chunkBytes)} make many small ones, which are slower.`,
        use: "--s3-chunk-size 64M, or a multiple of it",
        weight: "wrong",
      },
    ];
  }
  const largest = formatBytes(chunkBytes * MOST_PARTS);
  if (chunkBytes >= SMALL_CHUNK) return [];
  return [
    {
      what: flag("s3-chunk-size"),
      why: `With parts of ${formatBytes(chunkBytes)} (${written === null ? "the default" : "as given"}) and ${concurrency} at a time a long line stands idle between parts, and a stream (rcat) ends at ${largest}.`,
      use: "--s3-chunk-size 64M with --s3-upload-concurrency 16",
      weight: "doubtful",
    },
  ];
}

/** Checks parallelism. `--transfers` counts files, not parts of a file (https://rclone.org/docs/#transfers-int). */
function lintParallel({ flags, verb }: RcloneSettings): LintFinding[] {
  const transfers = readCount(flags.get("transfers") ?? "");
  const isOneFile = verb === "copyto" || verb === "moveto" || verb === "rcat";
  const findings: LintFinding[] = [];
  if (transfers !== null && transfers > DEFAULTS.transfers && !flags.has("s3-upload-concurrency")) {
    findings.push({
      what: `--transfers ${transfers}`,
      why: isOneFile
        ? `It is how many files go at a time; ${verb} moves one, so it does nothing.`
        : "It is how many files go at a time; each of them still goes 4 parts at a time.",
      use: "--s3-upload-concurrency for uploads of large files, --multi-thread-streams for downloads",
      weight: isOneFile ? "wrong" : "doubtful",
    });
  }
  const cutoff = flags.get("s3-upload-cutoff") ?? null;
  const cutoffBytes = cutoff === null ? null : readSize(cutoff);
  if (cutoffBytes !== null && cutoffBytes > 200 * MIB) {
    findings.push({
      what: `--s3-upload-cutoff ${formatBytes(cutoffBytes)}`,
      why: "Files below it go in one request: one lost connection sends all of it again, over one connection.",
      use: "Leave it at 200M or less",
      weight: "doubtful",
    });
  }
  const streams = readCount(flags.get("multi-thread-streams") ?? "");
  if (streams === 0 || streams === 1) {
    findings.push({
      what: `--multi-thread-streams ${streams}`,
      why: "A large file is then read over one connection, which a long line never fills.",
      use: "--multi-thread-streams 16",
      weight: "doubtful",
    });
  }
  return findings;
}

/** Nonexistent flags that people use, with the flags that they mean. */
const MISNAMED: Readonly<Record<string, string>> = {
  "chunk-size": "s3-chunk-size",
  "upload-concurrency": "s3-upload-concurrency",
  concurrency: "s3-upload-concurrency",
  "upload-cutoff": "s3-upload-cutoff",
  "s3-concurrency": "s3-upload-concurrency",
  "s3-part-size": "s3-chunk-size",
  "s3-transfers": "transfers",
  "no-check-bucket": "s3-no-check-bucket",
  parallel: "transfers",
  "multi-thread-stream": "multi-thread-streams",
};

const lintNames = ({ flags, verb }: RcloneSettings): LintFinding[] =>
  verb === ""
    ? []
    : [...flags.keys()]
        .filter((name) => Object.hasOwn(MISNAMED, name))
        .map((name) => ({
          what: flag(name),
          why: "rclone has no such flag and stops, or it was left out of newer versions.",
          use: flag(MISNAMED[name] ?? ""),
          weight: "wrong",
        }));

interface SwitchRule {
  name: string;
  /** Whether the flag is wrong with this value; null: without a value. */
  when: (value: string | null) => boolean;
  finding: Omit<LintFinding, "what">;
}

const isOn = (value: string | null): boolean => value === null || /^(1|true|yes|on)$/i.test(value);
const atMost =
  (most: number) =>
  (value: string | null): boolean => {
    const count = readCount(value ?? "");
    return count !== null && count <= most;
  };

const SWITCHES: readonly SwitchRule[] = [
  {
    // https://rclone.org/docs/#ignore-checksum
    name: "ignore-checksum",
    when: isOn,
    finding: { why: "What arrived is then compared with nothing.", use: "Leave it out", weight: "wrong" },
  },
  {
    // https://rclone.org/s3/#s3-disable-checksum
    name: "s3-disable-checksum",
    when: isOn,
    finding: {
      why: "Large files are then stored without their MD5, so no later check can compare them.",
      use: "Leave it out; the wait it saves is short beside the upload",
      weight: "wrong",
    },
  },
  {
    name: "size-only",
    when: isOn,
    finding: {
      why: "Checkpoints of one model have one size: a changed one counts as the same and is not copied.",
      use: "--checksum",
      weight: "wrong",
    },
  },
  {
    name: "ignore-size",
    when: isOn,
    finding: { why: "A file that arrived short counts as copied.", use: "Leave it out", weight: "wrong" },
  },
  {
    // https://rclone.org/docs/#retries-int
    name: "retries",
    when: atMost(1),
    finding: {
      why: "One error at the end of a copy then ends all of it.",
      use: "--retries 3 (the default) or more, with --retries-sleep 10s",
      weight: "wrong",
    },
  },
  {
    // https://rclone.org/docs/#low-level-retries-number
    name: "low-level-retries",
    when: atMost(5),
    finding: {
      why: "This is what carries a part over a lost connection; home lines lose them.",
      use: "--low-level-retries 20",
      weight: "wrong",
    },
  },
  {
    name: "no-check-certificate",
    when: isOn,
    finding: {
      why: "Anybody on the way can answer in the store's place and read the checkpoint.",
      use: "Leave it out; give --ca-cert for a certificate of your own",
      weight: "wrong",
    },
  },
  {
    // https://rclone.org/docs/#inplace: without it a file has the suffix .partial until it is whole.
    name: "inplace",
    when: isOn,
    finding: {
      why: "A file that is half there has its final name, and a training program may load it.",
      use: "Leave it out",
      weight: "wrong",
    },
  },
  {
    name: "timeout",
    when: (value) => value !== null && /^0+[a-z]*$/.test(value),
    finding: {
      why: "0 means never: a connection that went silent is waited for without end.",
      use: "--timeout 1m",
      weight: "wrong",
    },
  },
  {
    name: "s3-v2-auth",
    when: isOn,
    finding: {
      why: "Hardly any store takes signatures of version 2 any more.",
      use: "Leave it out",
      weight: "doubtful",
    },
  },
  {
    // https://rclone.org/s3/#s3-leave-parts-on-error
    name: "s3-leave-parts-on-error",
    when: isOn,
    finding: {
      why: "Parts of failed uploads stay in the bucket and are billed until somebody removes them.",
      use: "Leave it out, or let a lifecycle rule abort unfinished uploads",
      weight: "doubtful",
    },
  },
  {
    // A bare number is KiB/s, in bytes, not bits: https://rclone.org/docs/#bwlimit-bwtimetable
    name: "bwlimit",
    when: (value) => value !== null && /^\d+(\.\d+)?$/.test(value) && Number(value) > 0,
    finding: {
      why: "A number without a unit is KiB a second: 100 is 0.8 Mbit/s.",
      use: "--bwlimit 12M for about 100 Mbit/s",
      weight: "doubtful",
    },
  },
  {
    name: "s3-secret-access-key",
    when: () => true,
    finding: {
      why: "Everybody on the machine sees it in the list of processes, and the shell keeps it in its history.",
      use: "A remote in rclone.conf, or the variable RCLONE_S3_SECRET_ACCESS_KEY",
      weight: "wrong",
    },
  },
];

const lintSwitches = ({ flags }: RcloneSettings): LintFinding[] =>
  SWITCHES.filter(({ name, when }) => flags.has(name) && when(flags.get(name) ?? null)).map(({ name, finding }) => ({
    what: flag(name),
    ...finding,
  }));

const hasOwnConnections = (flags: RcloneSettings["flags"]): boolean =>
  flags.has("disable-http2") || flags.has("s3-disable-http2");

/** Finds risky commands and missing flags. */
function lintMissing({ flags, provider, verb }: RcloneSettings): LintFinding[] {
  const findings: LintFinding[] = [];
  if (verb === "sync" || verb === "move" || verb === "moveto") {
    findings.push({
      what: `rclone ${verb}`,
      why:
        verb === "sync"
          ? "It makes the target like the source: a checkpoint that was rotated away on the disk goes from the bucket too."
          : "It removes the source as soon as it counts as copied.",
      use: verb === "sync" ? "rclone copy" : "rclone copy, and remove after rclone check",
      weight: "doubtful",
    });
  }
  if (verb !== "" && !flags.has("s3-no-check-bucket") && provider !== "other") {
    findings.push({
      what: "--s3-no-check-bucket",
      why: "Without it rclone may try to look for or to make the bucket first; a key that is good for one bucket's objects alone is refused with 403.",
      use: "--s3-no-check-bucket, with a key of this bucket alone",
      weight: "note",
    });
  }
  // One HTTP/2 connection carries all parts, so one lost packet delays all of them.
  // https://rclone.org/docs/#disable-http2
  const { concurrency } = numbersOf({ flags, provider, verb });
  if (verb !== "" && provider !== "aws" && concurrency > DEFAULTS.concurrency && !hasOwnConnections(flags)) {
    findings.push({
      what: "--disable-http2",
      why: "Where the store speaks HTTP/2 all parts share one connection, and one lost packet holds all of them up.",
      use: "--disable-http2",
      weight: "doubtful",
    });
  }
  return findings;
}

/** Returns all findings on one command or on one remote's options, the most serious first. Pure. */
export function lintRclone(settings: RcloneSettings): LintFinding[] {
  const rank: Record<LintFinding["weight"], number> = { wrong: 0, doubtful: 1, note: 2 };
  return [
    ...lintNames(settings),
    ...lintSwitches(settings),
    ...lintChunk(settings),
    ...lintParallel(settings),
    ...lintMissing(settings),
    ...lintMemory(settings),
  ].toSorted((one, other) => rank[one.weight] - rank[other.weight]);
}
