import { isPathAddressed } from "#storage/signing/signing.ts";
import { keyedEnvironment } from "./base-environment.ts";
import type { Driver, Errand, Sizes } from "./driver.ts";
import { findProgram, reading } from "./find-program.ts";

/** rclone, as the SaladCloud guide ran it and as one file is moved fastest; https://rclone.org/s3 and https://rclone.org/docs */

/** https://rclone.org/docs/#list-of-exit-codes */
const EXITS = { 3: "NO_SUCH_BUCKET", 4: "NO_SUCH_KEY", 8: "TOO_LARGE" } as const;
/** Its parts are held in memory; of the guide's flags none says how many, so it is its default. */
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
  about: { flags: (errand: Sizes) => string[]; parts: (errand: Sizes) => number },
): Driver => ({
  name,
  exits: EXITS,
  holds: (errand) => (errand.direction === "up" ? errand.partBytes * about.parts(errand) : null),
  find: (where) =>
    findProgram(
      { names: ["rclone"], args: ["version"], read: reading(/^rclone v?(\S+)/), hint: "https://rclone.org/install" },
      where,
    ),
  command: (errand, found) => ({
    program: found.program,
    args: [
      "copyto",
      ...ends(errand),
      ...STORE_FLAGS,
      ...storeFlags(errand),
      ...keyFlags(errand),
      ...about.flags(errand),
    ],
    env: keyedEnvironment(errand, found),
  }),
});

const ends = ({ direction, path, access, key }: Errand): string[] => {
  const store = `:s3:${access.bucket}/${key}`;
  return direction === "up" ? [path, store] : [store, path];
};

/** No configuration is read or written, and the bucket is there. */
const STORE_FLAGS = ["--config=", "--s3-provider=Other", "--s3-env-auth", "--s3-no-check-bucket", "--log-level=ERROR"];

/** To a key that opens one folder a store says "forbidden" of what is not there, and rclone would go no further. */
const keyFlags = ({ credential, direction }: Errand): string[] =>
  credential?.sessionToken !== undefined && direction === "up" ? ["--no-check-dest"] : [];

const storeFlags = ({ access }: Errand): string[] => [
  `--s3-endpoint=${access.endpoint}`,
  `--s3-region=${access.region}`,
  `--s3-force-path-style=${isPathAddressed(access)}`,
];

export const rclone = driver("rclone", { flags: guideFlags, parts: () => OWN_CONCURRENCY });
export const rcloneTuned = driver("rclone-tuned", { flags: tunedFlags, parts: ({ connections }) => connections });
