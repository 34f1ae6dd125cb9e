import { row, type FaultRow } from "./fault-row.ts";
import { ENGINE_FAULTS } from "./fault-table-engines.ts";
import { HUB_FAULTS } from "./fault-table-hub.ts";

/** Table of all failures: how each is retried, its HTTP status and exit code, and the sentence that a person reads. */

/** Exit codes: see exit-codes.ts. */
export const FAULTS = {
  BAD_INPUT: row("never", 400, { exit: 2, says: "The input is not valid.", next: "Correct it and try again." }),
  HOSTILE_NAME: row("never", 400, {
    exit: 4,
    says: "The name could write outside its folder or cannot exist on disk, so it was refused.",
    next: "Rename it at its source.",
  }),
  LINK_REFUSED: row("never", 403, {
    exit: 4,
    says: "The link is not followed.",
    next: "Put the files into the watched folder, or start the worker with --follow-links if you trust its program.",
  }),
  // The state folder of the worker.
  FOLDER_NOT_OWN: row("never", 403, {
    exit: 4,
    says: "The folder belongs to another user, or others can write to it.",
    next: "Name a folder of this user's own with --state, or take the rights of others away: chmod go-w.",
  }),
  TOO_LARGE: row("never", 413, { exit: 2, says: "The request is larger than the limit.", next: "Send less at once." }),
  NOT_FOUND: row("never", 404, { exit: 3, says: "It does not exist.", next: "Check the name." }),
  NO_SUCH_BUCKET: row("never", 404, {
    exit: 3,
    says: "The bucket does not exist at this endpoint.",
    next: "Check the bucket name, the endpoint and the region.",
  }),
  NO_SUCH_KEY: row("never", 404, { exit: 3, says: "The object does not exist.", next: "Check the key." }),
  NO_SUCH_UPLOAD: row("never", 404, {
    exit: 5,
    says: "The store no longer knows this multipart upload.",
    next: "The object is uploaded anew.",
  }),
  ACCESS_DENIED: row("never", 403, {
    exit: 4,
    says: "The store refused the request.",
    next: "Give the key the missing permission; the profile test names it.",
  }),
  NAMES_LEFT_OUT: row("never", 409, {
    exit: 8,
    says: "This disk cannot hold files of these names; all others are in place.",
    next: "Use another disk.",
  }),
  OBJECT_ARCHIVED: row("never", 403, {
    exit: 4,
    says: "The object is archived, so its bytes cannot be read now.",
    next: "Restore it first where it is stored (hours, by its class), and start again.",
  }),
  OBJECT_BEING_RESTORED: row("never", 403, {
    exit: 4,
    says: "The object is being restored from its archive, so its bytes cannot be read yet.",
    next: "Start again when the store has finished (hours, by its class).",
  }),
  BAD_CREDENTIALS: row("never", 403, {
    exit: 4,
    says: "The store does not accept this access key or its secret.",
    next: "Enter the key again.",
  }),
  CREDENTIALS_EXPIRED: row("now", 403, {
    exit: 4,
    says: "The temporary credentials have expired.",
    next: "If they are renewed, it continues; otherwise start it again with new ones. What was stored stays.",
  }),
  KEYS_REFUSED: row("never", 403, {
    exit: 4,
    says: "The service that gives out keys refused.",
    next: "Fix that there and start the command again; it continues where it stopped.",
  }),
  KEYS_UNAVAILABLE: row("backoff", 503, {
    exit: 5,
    says: "The service that gives out keys did not answer.",
    next: "It is tried again while the transfer runs; else start the command again.",
  }),
  SIGNATURE_EXPIRED: row("now", 403, {
    exit: 5,
    says: "The signature of this request has expired.",
    next: "It is signed again.",
  }),
  CLOCK_SKEW: row("never", 403, {
    exit: 5,
    says: "The clock of this machine differs too much from the store's.",
    next: "Set the clock (for example with NTP) and try again.",
  }),
  WRONG_REGION: row("never", 400, {
    exit: 2,
    says: "The bucket is in another region.",
    next: "Set the region the store names.",
  }),
  THROTTLED: row("backoff", 503, {
    exit: 5,
    says: "The store asks for fewer requests.",
    next: "Tidemark slows down and continues.",
  }),
  STORE_UNAVAILABLE: row("backoff", 503, {
    exit: 5,
    says: "The store answered with a temporary error.",
    next: "It is tried again.",
  }),
  LINK_DOWN: row("backoff", 503, {
    exit: 5,
    says: "The connection to the store was lost or could not be made.",
    next: "It is tried again as soon as the link answers.",
  }),
  NAME_NOT_RESOLVED: row("backoff", 503, {
    exit: 5,
    says: "The host name could not be resolved.",
    next: "Check the endpoint's spelling and the machine's DNS.",
  }),
  PROXY_LOGIN: row("never", 502, {
    exit: 4,
    says: "The proxy asks for another user or password.",
    next: "Write them into its URL: http://USER:PASSWORD@HOST:PORT, with @ as %40 and : as %3A.",
  }),
  PROXY_REFUSED: row("never", 502, {
    exit: 4,
    says: "The proxy does not allow this destination.",
    next: "Ask its operator to allow it, or name the destination in NO_PROXY.",
  }),
  PROXY_FAILED: row("backoff", 502, {
    exit: 5,
    says: "The proxy made no connection.",
    next: "Check the proxy's address and that it runs; it is tried again.",
  }),
  TLS_FAILED: row("never", 502, {
    exit: 4,
    says: "The secure connection could not be established.",
    next: "Check the certificate and the endpoint's scheme.",
  }),
  STALLED: row("backoff", 504, { exit: 5, says: "No bytes moved for too long.", next: "The part is tried again." }),
  TRUNCATED: row("now", 502, {
    exit: 5,
    says: "The answer ended before all bytes arrived.",
    next: "The rest is fetched again.",
  }),
  INTERCEPTED: row("backoff", 502, {
    exit: 5,
    says: "Something between this machine and the store answered in its place (a login page or a proxy).",
    next: "Check the network; nothing was taken as success.",
  }),
  UNEXPECTED_ANSWER: row("backoff", 502, {
    exit: 1,
    says: "The store gave an answer that does not follow the S3 protocol.",
    next: "It is tried again; if it stays, report the store's name and version.",
  }),
  RANGE_IGNORED: row("never", 502, {
    exit: 1,
    says: "The store ignored the requested byte range.",
    next: "This store cannot be read in parallel.",
  }),
  OBJECT_CHANGED: row("never", 412, {
    exit: 6,
    says: "The object changed since it was recorded.",
    next: "Nothing was put in place. Choose another checkpoint, or start the download again.",
  }),
  ALREADY_EXISTS: row("never", 412, {
    exit: 4,
    says: "An object with this key already exists.",
    next: "Choose another key.",
  }),
  CHECKSUM_MISMATCH: row("now", 422, {
    exit: 6,
    says: "The bytes do not match their checksum.",
    next: "Only this part is repeated; nothing wrong was put in place.",
  }),
  SIZE_MISMATCH: row("never", 422, {
    exit: 6,
    says: "The size differs from what was recorded.",
    next: "Nothing was put in place.",
  }),
  SOURCE_CHANGED: row("never", 409, {
    exit: 1,
    says: "The file changed while it was being read.",
    next: "Start a copy again; of a checkpoint the next finished one is taken.",
  }),
  NOT_FINISHED: row("never", 409, {
    exit: 1,
    says: "The checkpoint is not finished.",
    next: "It is captured when it is complete, or stored as doubtful when it has not changed for --unfinished-after.",
  }),
  NO_CHECKPOINT: row("never", 409, {
    exit: 1,
    says: "This is not a checkpoint, so it is not kept safe.",
    next: "If it is one, name it with --pattern, or save it with `tidemark save`.",
  }),
  READ_FAILED: row("never", 500, {
    exit: 1,
    says: "The file could not be read.",
    next: "Check the disk and permissions.",
  }),
  WRITE_FAILED: row("never", 500, {
    exit: 1,
    says: "The file could not be written.",
    next: "Check the folder and its permissions.",
  }),
  NO_SPACE: row("never", 507, {
    exit: 7,
    says: "There is not enough free disk space.",
    next: "Free some space or choose another folder; nothing was left under the final name.",
  }),
  DISK_BUDGET: row("never", 507, {
    exit: 7,
    says: "It would exceed the disk budget of captures.",
    next: "Allow more (--disk-budget), or save less often; the worker tries again by itself.",
  }),
  FOLDER_UNWRITABLE: row("never", 500, {
    exit: 1,
    says: "The folder cannot be written.",
    next: "Choose another folder or change its owner.",
  }),
  FOLDER_IN_USE: row("never", 409, {
    exit: 4,
    says: "Another Tidemark process is using this folder.",
    next: "Stop it first, or give this one a folder of its own.",
  }),
  COPY_RUNNING: row("never", 409, {
    exit: 4,
    says: "The same copy is running already.",
    next: "Wait for it to end, or stop it first: what it has moved is kept.",
  }),
  NOT_SAFE_YET: row("never", 504, {
    exit: 5,
    says: "Not everything is safe yet.",
    next: "Uploads continue. Wait longer, or see what is missing with `tidemark status`.",
  }),
  SUPERSEDED: row("never", 409, {
    exit: 1,
    says: "A newer checkpoint of the run replaced it while it waited.",
    next: "Save less often than the uplink can carry; `tidemark status` says how often that is.",
  }),
  NOT_ADMITTED: row("never", 401, {
    exit: 4,
    says: "The worker does not answer this asker.",
    next: "Use the unix socket in its state folder, or on loopback the token from local.token there.",
  }),
  NO_WORKER: row("never", 503, {
    exit: 3,
    says: "No worker answers there.",
    next: "Start one (tidemark agent, or tidemark run), or name its state folder with --state.",
  }),
  // Status 503: an older worker that does not know this code treats it as an absent hub, and waits.
  RUN_IN_USE: row("backoff", 503, {
    exit: 4,
    says: "Another node writes this run and was heard a moment ago.",
    next: "It continues by itself when that node is silent or has stopped; with a hub, an operator can hand the run over on its page.",
  }),
  PREFIX_OF_HUB: row("never", 409, {
    exit: 4,
    says: "A hub keeps checkpoints under this prefix.",
    next: "Join it with --hub and a token, or choose another prefix.",
  }),
  RUN_NOT_ALLOWED: row("never", 403, {
    exit: 4,
    says: "This node may not write this run.",
    next: "Hand the run over to it on the run's page, or enrol it with a token for this run.",
  }),
  PROGRAM_RUNS_STILL: row("never", 409, {
    exit: 4,
    says: "The program of an earlier start still runs, without its worker.",
    next: "End it first; or start with --orphan end, which ends it, or --orphan wait.",
  }),
  PROGRAM_NOT_FOUND: row("never", 500, {
    exit: 127,
    says: "The program was not found.",
    next: "Check its name (after `--`) and the PATH.",
  }),
  PROGRAM_NOT_EXECUTABLE: row("never", 500, {
    exit: 126,
    says: "The program cannot be executed.",
    next: "Make it executable, or name its interpreter first: tidemark run -- python train.py",
  }),
  LINK_TOO_SLOW: row("never", 409, {
    exit: 4,
    says: "The link between this machine and the store is slower than required.",
    next: "Use another machine, or ask for less (--min-up, --min-down).",
  }),
  PLATFORM_FAILED: row("backoff", 502, {
    exit: 5,
    says: "The platform's service on this machine did not carry out the request.",
    next: "The worker continues without it; if the fault stays, check the platform's status.",
  }),
  PORT_IN_USE: row("never", 500, {
    exit: 1,
    says: "The port is already in use.",
    next: "Stop the program that holds it, or choose another port.",
  }),
  HUB_UNREACHABLE: row("backoff", 503, {
    exit: 5,
    says: "The hub cannot be reached.",
    next: "Check the address and that the hub is running; work already queued is kept.",
  }),
  HUB_NOT_TIDEMARK: row("never", 502, {
    exit: 2,
    says: "The address answers, but not as a Tidemark hub.",
    next: "Check the hub's address.",
  }),
  HUB_PLAIN_HTTP: row("never", 400, {
    exit: 2,
    says: "The hub's address is plain http, so the node's credential could be read on the way.",
    next: "Use https, or pass --allow-http for a network you trust.",
  }),
  PROTOCOL_MISMATCH: row("never", 426, {
    exit: 2,
    says: "Worker and hub speak different versions of the protocol.",
    next: "Upgrade the older of the two.",
  }),
  TOKEN_WRONG: row("never", 401, {
    exit: 4,
    says: "The hub does not know this join token.",
    next: "Create a new one under Add node.",
  }),
  TOKEN_EXPIRED: row("never", 401, {
    exit: 4,
    says: "The join token has expired or is used up.",
    next: "Create a new one under Add node.",
  }),
  NODE_UNKNOWN: row("never", 401, {
    exit: 4,
    says: "The hub does not know this node's credential.",
    next: "Enrol the node again with a join token.",
  }),
  NODE_REVOKED: row("never", 403, {
    exit: 4,
    says: "This node was revoked at the hub.",
    next: "Enrol it again if that was a mistake.",
  }),
  NOT_THIS_NODES: row("never", 403, {
    exit: 4,
    says: "This node may not touch that object.",
    next: "A node writes only under its own attempt and reads only checkpoints assigned to it.",
  }),
  EPOCH_OVER: row("never", 409, {
    exit: 4,
    says: "Another node has taken over this run.",
    next: "This node stops writing; its successor owns the run.",
  }),
  PLACE_REFUSED: row("never", 409, {
    exit: 4,
    says: "Nothing is put there.",
    next: "Choose another folder, for example one inside the watched folder.",
  }),
  TARGET_EXISTS: row("never", 409, {
    exit: 4,
    says: "There is something already, and a part of a checkpoint does not replace it.",
    next: "Choose a folder that does not exist yet, or restore all files.",
  }),
  CHECKPOINT_DAMAGED: row("never", 409, {
    exit: 6,
    says: "The checkpoint is damaged: its bytes in the bucket are not those that were committed.",
    next: "Restore the one before it; verify it to see which files are still right.",
  }),
  CHECKPOINT_INCOMPLETE: row("never", 409, {
    exit: 4,
    says: "The checkpoint is not complete, so it cannot be restored.",
    next: "Choose the newest complete one.",
  }),
  CONFLICT: row("never", 409, { exit: 1, says: "It was changed in the meantime.", next: "Reload and try again." }),
  IN_USE: row("never", 409, { exit: 4, says: "It is still in use.", next: "Remove what uses it first." }),
  EXPIRED: row("never", 409, {
    exit: 5,
    says: "No node accepted it in time, so it will not be carried out.",
    next: "Repeat the request if you still need it.",
  }),
  INTERRUPTED: row("never", 500, {
    exit: 5,
    says: "The worker was ended in the middle of it, and it is not begun a second time by itself.",
    next: "Check what became of it, and repeat the request if you still need it.",
  }),
  CORS_MISSING: row("never", 403, {
    exit: 4,
    says: "The bucket does not allow requests of this page.",
    next: "An admin can set its CORS rule under Buckets; then try again.",
  }),
  UNSUPPORTED: row("never", 501, { exit: 1, says: "The store does not support this.", next: "Use another way." }),
  CANCELLED: row("never", 499, { exit: 130, says: "It was cancelled.", next: "Start it again when you like." }),
  SHUTTING_DOWN: row("backoff", 503, { exit: 5, says: "The hub is restarting.", next: "It is tried again." }),
  MALFORMED: row("never", 422, {
    exit: 6,
    says: "The file does not follow its format.",
    next: "Look at what wrote it: it may be cut short or damaged.",
  }),
  TOO_MUCH_INSIDE: row("never", 422, {
    exit: 1,
    says: "There is more inside the file than is looked at.",
    next: "The file may still be valid; restore it to inspect all of it.",
  }),
  ...ENGINE_FAULTS,
  ...HUB_FAULTS,
  INTERNAL: row("never", 500, {
    exit: 1,
    says: "Something unexpected went wrong.",
    next: "The log has the details; please report it.",
  }),
} as const satisfies Record<string, FaultRow>;

export type FaultCode = keyof typeof FAULTS;
