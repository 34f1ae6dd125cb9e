import { sep } from "node:path";

/**
 * Paths that this program may remove or rename, as data. A path is known by its name, so that a mistake in a caller cannot
 * reach what Tidemark did not make. Where a name is no proof, the reason says what the caller has to prove first.
 * docs/durability.md shows this table, and a test compares the two.
 */

export interface OwnedPaths {
  /** The paths in words, for people. */
  paths: string;
  /** Why one of them is removed or renamed. */
  why: string;
  /** Returns whether a path, absolute or relative, is one of them. */
  fits(path: string): boolean;
}

const matches =
  (pattern: RegExp): OwnedPaths["fits"] =>
  (path) =>
    // On Linux a backslash is part of a name.
    pattern.test(sep === "/" ? path : path.replaceAll(sep, "/"));

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

export const OWNED_PATHS = {
  journal: {
    paths: "`*.jsonl`, `*.journal`, `journal` and their `.new` in the state folder or a scratch folder",
    why: "The transfer ended, or the journal is replaced by a shorter one that says the same.",
    fits: matches(/(\.jsonl|\.journal|(^|\/)journal)(\.new)?$/),
  },
  "state-file": {
    paths:
      "`*.json`, `*.step` with `.new` or a process number behind; `limits.json`; `local.sock`, `local.token`; `seal.json`, `seal.tags`; `<digest>.local.sock` in `tidemark-run-<uid>` in the folder for temporary files",
    why: "A new version of the file takes its place, or what it says is over.",
    fits: matches(/(^|\/)([^/]+\.(json|step|tags)(\.new|\.\d+)?|local\.(sock|token)|[0-9a-f]{16}\.local\.sock)$/),
  },
  lock: {
    paths:
      "`*.lock` and `*.lock.<random>.dead` in the state folder and in `tidemark-run-<uid>` in the folder for temporary files",
    why: "The lock is given back, or its process is dead.",
    fits: matches(/\.lock(\.[0-9a-f]{12}\.dead)?$/),
  },
  capture: {
    paths: "`captures/<uuid>` in the state folder",
    why: "A copy of a checkpoint that is safe, was overtaken by a newer one, cancelled, or belongs to no entry of the queue.",
    fits: matches(new RegExp(`(^|/)captures/${UUID}$`)),
  },
  scratch: {
    paths: "`drills/<id>` in the state folder, `tidemark-*` in a folder for temporary files, and what lies in them",
    why: "Bytes that were fetched or made to be verified, rehearsed, compared, copied or loaded, and are not needed any more.",
    fits: matches(/(^|\/)(drills\/[A-Za-z0-9-]+|tidemark-[A-Za-z0-9-]+)(\/|$)/),
  },
  "fresh-file": {
    paths: "`<file>.<process>.tidemark-new` beside the file of `--metrics-file`, or of `keygen`",
    why: "What was written there takes the place of the file, or could not be written whole.",
    fits: matches(/\.\d+\.tidemark-new$/),
  },
  "restore-state": {
    paths: "`restores/<digest>` in the state folder",
    why: "The journal of a restore with `--to`, without a worker, that is complete.",
    fits: matches(/(^|\/)restores\/[0-9a-f]{16}$/),
  },
  "nameless-file": {
    paths:
      "`.list-<uuid>` and `doctor.<random>` in the state folder, a folder for temporary files, or the target of a copy or restore",
    why: "A file that this process made a moment ago: an open list needs no name, a test of writing or of names no file.",
    fits: matches(new RegExp(`(^|/)(\\.list-${UUID}|doctor\\.[0-9a-f]{12})$`)),
  },
  "download-part": {
    paths: "`.<name>.part-<id>` beside the target of `cp` and `sync`",
    why: "The bytes are complete and verified and get their name, or they are not those of the object.",
    fits: matches(/(^|\/)\.[^/]+\.part-[A-Za-z0-9-]+$/),
  },
  "restore-part": {
    paths: "`.<name>.restoring-<id>` and `.<name>.parts-<id>` beside the target of a restore, and what lies in them",
    why: "The checkpoint is complete and verified and gets its name, or the restore will not go on.",
    fits: matches(/(^|\/)\.[^/]+\.(restoring|parts)-[A-Za-z0-9-]+(\/|$)/),
  },
  replaced: {
    paths: "the target of a restore, as `.<name>.replaced-<id>`",
    why: "It makes way for the restored folder, and comes back when that does not arrive. Removed only when the ledger says that exactly this content was stored, and the hub that its checkpoint is complete in the bucket now; kept as `.set-aside-<name>` otherwise.",
    fits: matches(/(^|\/)\.[^/]+\.replaced-[A-Za-z0-9-]+$/),
  },
  "set-aside": {
    paths:
      "a checkpoint in a watched folder, as `.set-aside-<name>`; one of accelerate's `checkpoints`, in `.set-aside-checkpoints` beside that folder",
    why: "A program must not go on from it, and this run wrote it: it was captured or restored here, or it is in a known format and was written since the run is watched and since its last safe step. Removed only when the ledger says that exactly this content was stored, and the hub that its checkpoint is complete in the bucket now; otherwise by a person.",
    fits: matches(/(^|\/)\.set-aside-([^/]+|checkpoints\/[^/]+)$/),
  },
  "job-folder": {
    paths: "`<id of the job>` in the folder of `tidemark work --work-folder`",
    why: "The worker made it for the job, an attempt of the job has ended here, and each file in it is a link to an input, an output that is in its bucket as it is now, or belongs to a checkpoint of which the ledger says that exactly this content was stored, and the hub that it is complete in the bucket now. Otherwise it stays.",
    fits: matches(new RegExp(`(^|/)${UUID}$`)),
  },
  "input-cache": {
    paths:
      "`objects/<two digits>/<digest>`, `uses/<id of the job>.json` and `uses/slot-<number>/<id of the job>.json` in `.inputs` in the folder of `tidemark work --work-folder`",
    why: "An object of an input that no job here uses makes way for one that is needed, or what it says is over. It is fetched again when a job needs it.",
    fits: matches(
      new RegExp(`(^|/)\\.inputs/(objects/[0-9a-f]{2}/[0-9a-f]{64}|uses/(slot-\\d{1,3}/)?${UUID}\\.json(\\.new)?)$`),
    ),
  },
  "input-link": {
    paths: "links to `.inputs` in `<id of the job>` in the folder of `tidemark work --work-folder`",
    why: "An earlier attempt of the job was given this object of an input, which may be another one now.",
    fits: matches(new RegExp(`(^|/)${UUID}/.`)),
  },
  asked: {
    paths: "files of the destination of `sync --delete`, and folders that this leaves empty",
    why: "A person asked for it on the command line, and the source was listed completely.",
    // A person's files may have any name; the caller has checked that they lie below the destination.
    fits: () => true,
  },
} as const satisfies Record<string, OwnedPaths>;

export type Owned = keyof typeof OWNED_PATHS;
