import type { EventKind } from "#protocol/views.ts";

/** What people call each kind of event. */
export const EVENT_LABELS: Readonly<Record<EventKind, string>> = {
  "node-joined": "node joined",
  "node-silent": "node silent",
  "node-back": "node back",
  "node-revoked": "node revoked",
  "epoch-claimed": "run claimed",
  "checkpoint-safe": "checkpoint safe",
  "checkpoint-copied": "checkpoint copied",
  "home-away": "bucket out of reach",
  "home-back": "bucket back",
  "homes-changed": "homes changed",
  "checkpoint-trashed": "checkpoint in the trash",
  "checkpoint-back": "checkpoint brought back",
  "checkpoint-deleted": "checkpoint deleted",
  "upload-failed": "upload failed",
  "restore-started": "restore started",
  "restore-done": "restore done",
  "restore-failed": "restore failed",
  "checkpoint-verified": "checkpoint verified",
  "checkpoint-damaged": "checkpoint damaged",
  "check-failed": "not verified",
  "capture-refused": "checkpoint refused",
  "work-lost": "work lost",
  "program-ended": "program ended",
  "link-probed": "link measured",
  "command-sent": "command sent",
  "command-failed": "command failed",
  "command-expired": "command expired",
  "alert-undelivered": "alert not delivered",
  "profile-changed": "bucket changed",
  "bucket-job": "work in a bucket",
  "account-created": "account created",
  upkeep: "upkeep of the hub",
};

export const EVENT_KINDS = Object.keys(EVENT_LABELS);
