import type { AlertKind } from "./alerts.ts";
import { CONTINUE_MANY } from "../checkpoint/continue-words.ts";

/** Texts, ranks and times of alerts. Imports no zod, because pages load this file. */

/** By kind: the label of the rule, the title of a message about several alerts, and what to do. */
export const ALERT_WORDS: Readonly<Record<AlertKind, { label: string; many: string; todo: string }>> = {
  "at-risk": {
    label: "Work at risk for too long",
    many: "runs have work at risk for too long",
    todo: "See what delays their uploads: a slow or held link, a full disk, or a store that refuses.",
  },
  stalled: {
    label: "Uploads stalled",
    many: "nodes have uploads that do not move",
    todo: "Look at the fault of the transfer; if there is none, measure the link of the node.",
  },
  silent: {
    label: "Node silent",
    many: "nodes are silent",
    todo: `See whether the machine still runs. ${CONTINUE_MANY}`,
  },
  "restore-failed": {
    label: "Restore failed",
    many: "restores failed",
    todo: "Read the reason on the transfer, fix it, and retry it there.",
  },
  rejected: {
    label: "Too many nodes rejected",
    many: "bucket profiles have too many rejected nodes",
    todo: "When many links are too slow at once, look at the store's end first, then at the thresholds.",
  },
  "disk-full": {
    label: "Disk nearly full",
    many: "nodes are nearly out of disk",
    todo: "Free space there, or lower the limit of captures (--disk-budget): a full disk takes no new checkpoint.",
  },
  "no-checkpoint": {
    label: "No checkpoint for too long",
    many: "runs have made no checkpoint safe for too long",
    todo: "See whether the program still writes checkpoints, and whether the folder is the one that is watched.",
  },
  "bucket-away": {
    label: "Bucket out of reach",
    many: "buckets are out of reach",
    todo: "See whether the store is up and its key still valid. Checkpoints that could not go there are copied when it is back.",
  },
  "work-lost": {
    label: "Work lost",
    many: "interruptions cost training",
    todo: "Save more often, or find out why saved checkpoints had not become safe in time.",
  },
  "sign-ins-failed": {
    label: "Many failed sign-ins",
    many: "hubs have many failed sign-ins",
    todo: "See the audit for the networks they came from, and close the hub's address to them.",
  },
  "hub-disk": {
    label: "Disk of the hub",
    many: "problems with the disk of the hub",
    todo: "Free space in the hub's data folder, and end programs that read hub.db for long. Without space the hub records nothing new.",
  },
  doubtful: {
    label: "Doubtful checkpoint",
    many: "checkpoints may not be whole",
    todo: "See on its page what is missing. No program continues from it automatically; to continue from it anyway, use --from STEP or restore it.",
  },
  "claim-refused": {
    label: "Run claimed by another node",
    many: "runs were claimed by nodes that may not write them",
    todo: "If the node should continue the run, hand it over on the run's page. If not, revoke the node and its join token.",
  },
  "nothing-safe": {
    label: "Nothing of a run is safe",
    many: "programs ended with nothing of their runs safe",
    todo: "Save the files while the node is there: `tidemark save`. Then watch the right folder, or name the checkpoints with --pattern.",
  },
  "began-elsewhere": {
    label: "Restore passed over",
    many: "programs did not continue from what they were given",
    todo: "Have the program load the path in TIDEMARK_RESUME_PATH, and start it again. Nothing of the restored line is removed until the run passes its step or you dismiss this on the run's page.",
  },
  "job-failed": {
    label: "Job failed",
    many: "jobs failed",
    todo: "Read why its attempts ended: `tidemark jobs show`. Fix the cause and retry the job, or cancel it.",
  },
  "queue-stuck": {
    label: "Queue does not move",
    many: "queues do not move",
    todo: "See whether a node takes jobs of the queue (`tidemark work --queue`), and whether its jobs need more than the nodes have.",
  },
};

/** How long the first alert of a rule waits for others before its message is sent. */
export const GROUP_WAIT_MS = 15_000;
/** Shortest time between two messages about the same rule. */
export const GROUP_EVERY_MS = 5 * 60_000;
