import { isPathAddressed } from "#storage/signing/signing.ts";
import { keyedEnvironment } from "./base-environment.ts";
import type { Driver, TransferTask, Sizes } from "./driver.ts";
import { findProgram, reading } from "./find-program.ts";

/** Runs rclone with the SaladCloud guide's flags, or tuned for one file; https://rclone.org/s3, https://rclone.org/docs */

/** https://rclone.org/docs/#list-of-exit-codes */
const EXITS = { 3: "NO_SUCH_BUCKET", 4: "NO_SUCH_KEY", 8: "TOO_LARGE" } as const;
/** Default of --s3-upload-concurrency, which the guide leaves unset; rclone holds that many parts in memory. */
const OWN_CONCURRENCY = 4;

const guideFlags = ({ partBytes, connections }: Sizes): string[] => [
  `--s3-chunk-size=${partBytes}B`,
  `--transfers=${connections}`,
];

const tunedFlags = ({ partBytes, connections }: Sizes): string[] => [
  `--s3-chunk-size=${partBytes}B`,
  `--s3-upload-concurrency=${connections}`,
  "--s3-upload-cutoff=0",
  `--multi-thread-streams=${connections}`,
  `--multi-thread-cutoff=${partBytes}B`,
  `--multi-thread-chunk-size=${partBytes}B`,
];

const driver = (
  name: "rclone" | "rclone-tuned",
  about: { flags: (task: Sizes) => string[]; parts: (task: Sizes) => number },
): Driver => ({
  name,
  exits: EXITS,
  holds: (task) => (task.direction === "up" ? task.partBytes * about.parts(task) : null),
  find: (where) =>
    findProgram(
      { names: ["rclone"], args: ["version"], read: reading(/^rclone v?(\S+)/), hint: "https://rclone.org/install" },
      where,
    ),
  command: (task, found) => ({
    program: found.program,
    args: ["copyto", ...ends(task), ...STORE_FLAGS, ...storeFlags(task), ...keyFlags(task), ...about.flags(task)],
    env: keyedEnvironment(task, found),
  }),
});

const ends = ({ direction, path, access, key }: TransferTask): string[] => {
  const store = `:s3:${access.bucket}/${key}`;
  return direction === "up" ? [path, store] : [store, path];
};

/** Flags that keep rclone from reading or writing a configuration and from checking or creating the bucket. */
const STORE_FLAGS = ["--config=", "--s3-provider=Other", "--s3-env-auth", "--s3-no-check-bucket", "--log-level=ERROR"];

/**
 * Returns the flag for a temporary key that is limited to one prefix: it gets 403 instead of 404 for a missing object,
 * at which rclone would give up.
 */
const keyFlags = ({ credential, direction }: TransferTask): string[] =>
  credential?.sessionToken !== undefined && direction === "up" ? ["--no-check-dest"] : [];

const storeFlags = ({ access }: TransferTask): string[] => [
  `--s3-endpoint=${access.endpoint}`,
  `--s3-region=${access.region}`,
  `--s3-force-path-style=${isPathAddressed(access)}`,
];

export const rclone = driver("rclone", { flags: guideFlags, parts: () => OWN_CONCURRENCY });
export const rcloneTuned = driver("rclone-tuned", { flags: tunedFlags, parts: ({ connections }) => connections });
