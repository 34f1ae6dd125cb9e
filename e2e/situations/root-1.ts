import type { Root } from "./situation.ts";

export const root = {
  number: 1,
  title: "What looks unfinished is never unsafe for ever",
  rows: [
    {
      situation: "A person restores a doubtful checkpoint",
      outcome: "The end of the restore says what it may lack, on the node and in the events of the hub.",
      test: "e2e/process/doubtful.test.ts > one that stays unfinished is kept safe as doubtful, is shown as that, and is chosen by a person only",
    },
    {
      situation: "A checkpoint stays unfinished: a file that its index names never comes.",
      outcome:
        "When it has not changed for --unfinished-after (5 minutes), it is kept safe as doubtful, with the reason, on pages, in `status` and by an alert. Nothing goes on from it by itself; --from STEP and a restore of that step do.",
      test: "e2e/process/doubtful.test.ts > one that stays unfinished is kept safe as doubtful, is shown as that, and is chosen by a person only",
    },
    {
      situation: "A file of an unfinished checkpoint is still open for writing, or changes again.",
      outcome: "It is left alone for as long as somebody writes it; the wait starts anew with each change.",
      test: "worker/capture/detection/settle.test.ts > what looks unfinished is doubtful when it has not changed for long enough, unless somebody writes it",
    },
    {
      situation: "The program ends, or is killed, and its last checkpoint is unfinished.",
      outcome: "What is missing will not come, so it is kept as doubtful at once, behind what is whole.",
      test: "worker/capture/keep-capturing.test.ts > as unfinished is kept as doubtful when its program has ended, behind what is whole",
    },
    {
      situation: "The same, and the program is started again on the node that wrote it.",
      outcome:
        "It goes on from the newest whole checkpoint, with a hub and without, and the doubtful one is moved aside and named. --from STEP takes it.",
      test: "e2e/process/doubtful.test.ts > what a program that failed left behind is not gone on from by itself on its own node",
    },
    {
      situation: "`run --require-safe`, and the last checkpoint or the final model is only kept as doubtful.",
      outcome:
        "It ends with 9, and its last sentence names it. So do `status`, also without a worker, and the alert; the page of the node shows it.",
      test: "e2e/process/doubtful.test.ts > --require-safe ends with 9 when the last checkpoint or the final model may not be whole, and status and the hub name it",
    },
    {
      situation: "The hub is of an earlier version, which would take a doubtful checkpoint for a whole one.",
      outcome: "The worker does not send it, and says that the checkpoint is not finished.",
      test: "worker/capture/keep-capturing.test.ts > as unfinished is kept as doubtful after a while, by a hub that keeps such ones apart",
    },
    {
      situation: "trainer_state.json holds a bare NaN or Infinity (usual with fp16), or begins with a byte order mark.",
      outcome: "It is read as Python reads it: the checkpoint is ready at once, and its step is known.",
      test: "worker/capture/detection/readiness.test.ts > a Trainer's state with %s is whole",
    },
    {
      situation: "The same on the disk of a node that starts again.",
      outcome: "It is whole, and training goes on from it.",
      test: "worker/agent/local-checkpoints.test.ts > a state with a bare NaN (usual with fp16) or a byte order mark is whole, so that a restart goes on from it",
    },
    {
      situation: 'save_model("epoch_3"): weights, config.json and training_args.bin without trainer_state.json.',
      outcome: "It is taken when it has been quiet for the settle time.",
      test: "worker/capture/detection/readiness.test.ts > weights that were saved under a name of one's own need no state of training",
    },
    {
      situation: "A stale index of an earlier sharded save lies beside one whole file.",
      outcome: "The whole file counts, as for loaders.",
      test: "worker/capture/detection/readiness.test.ts > an index of an earlier save does not count beside the one whole file",
    },
    {
      situation: "An index of shards names its files as `./shards/model-00001-of-00002.safetensors`.",
      outcome: "The path is read as loaders read it: the checkpoint is whole when the file is there.",
      test: "worker/capture/detection/readiness.test.ts > an index may name its files by paths of any writing, as loaders join them",
    },
    {
      situation:
        "FSDP or PyTorch DCP over nodes with disks of their own: each has its shards, and node 0 alone has .metadata.",
      outcome:
        "With --nodes and --node-rank the hub joins the pieces of a step into one checkpoint when all that .metadata names is there. Until then pages and `status` name the node whose piece is missing. Each node gets the whole back.",
      test: "e2e/process/pieces.test.ts > of several nodes are joined into one checkpoint, which each of them goes on from",
    },
    {
      situation: "Pieces by several nodes for a bucket that wants encryption, or for a run that has further homes.",
      outcome:
        "The claim is refused with the bucket's name before a byte is written; so are further homes and encryption while the nodes write.",
      test: "server/core/claims/claim-for-group.test.ts > is refused at the first claim where the bucket wants encryption, before a byte is written",
    },
    {
      situation: "One of these nodes is enrolled for another bucket than the others.",
      outcome:
        "Its claim is refused before a byte is written: it names the bucket of the run, in which all pieces lie.",
      test: "server/core/claims/claim-for-group.test.ts > is refused at the claim of a node that belongs to another bucket, with what to do",
    },
    {
      situation: "One of these nodes starts again, and trains a step for the second time that others have a piece of.",
      outcome:
        "Pieces of two trainings are never joined: all nodes go on from the same checkpoint, in an epoch of their own.",
      test: "server/core/claims/claim-for-group.test.ts > shut out what an earlier start still has to send: pieces of two trainings are never joined",
    },
    {
      situation: "Nodes write a file of one name with other content (training_args.bin).",
      outcome: "Each node gets its own back; a restore elsewhere gets that of the lowest node.",
      test: "protocol/checkpoint/join-pieces.test.ts > of one name with other content each node gets its own back, and others that of the lowest node",
    },
    {
      situation: "The shards name their ranks (DeepSpeed): a node needs its own alone.",
      outcome: "It gets its own piece and what names no rank; where names do not tell, all pieces.",
      test: "protocol/checkpoint/join-pieces.test.ts > a node gets all pieces where names do not tell who reads them, else its own and what names no rank",
    },
    {
      situation: "A run has several final models, and the newest are doubtful or damaged.",
      outcome:
        "The newest whole one is chosen, else the newest doubtful one, and one that is known to be damaged last, with a hub and without.",
      test: "server/core/runs/newest.test.ts > of a role is the newest of the most trusted kind, and the text of a doubt says nothing of time",
    },
    {
      situation: "One of these nodes has sent its piece, and another has not (its disk is full, it was lost).",
      outcome:
        "The step is not safe on any of them: `status` and the hub count the piece as work at risk and name what is missing, and --require-safe ends with 9 after a minute.",
      test: "e2e/process/pieces.test.ts > of one node alone end --require-safe with 9, and those of all nodes with 0",
    },
    {
      situation: "A doubtful checkpoint is the only one of its run, and the run has further homes.",
      outcome: "An idle node copies it there. The start and `status` name it with --from STEP.",
      test: "server/features/replicas/assign-copies.test.ts > one that is doubtful is copied too, after the newest whole one: it may be all that there is",
    },
    {
      situation: "A name in the folder is not UTF-8.",
      outcome:
        "The rest is kept safe, and the checkpoint is doubtful: the name is said with what cannot be shown replaced.",
      test: "worker/capture/detection/readiness.test.ts > a name that is not UTF-8 is left out and named, and an empty folder is seen",
    },
    {
      situation:
        "The loader wants an empty folder, an executable script, a private file; trainers rotate by the time of the folder.",
      outcome: "Empty folders, modes and times are restored. Write access for everybody is not.",
      test: "e2e/process/doubtful.test.ts > modes, empty folders and times are restored with the files",
    },
    {
      situation: "The worker is root and restores into a folder of another user.",
      outcome:
        "Files, folders and links that it makes, also above and beside the checkpoint, belong to the owner and group of the nearest folder that was there.",
      test: "e2e/process/restored-owners.test.ts > what root restores into a folder of somebody else belongs to them: folders above it, pointers, settings and links too",
    },
    {
      situation:
        "Root may not change owners there: NFS with root_squash, a user namespace, a container without CAP_CHOWN.",
      outcome: "The restore goes on, and one sentence names the path and what to do.",
      test: "e2e/process/restored-owners.test.ts > where root may not change owners, the restore goes on and says so once",
    },
    {
      situation: "A restore makes folders above the checkpoint (logs/version_0/checkpoints).",
      outcome: "They have the time of the checkpoint. Folders that were there keep theirs.",
      test: "worker/restore/restore-attributes.test.ts > a restore gives modes, dates and owner, also to the folders that it makes above the checkpoint",
    },
    {
      situation: "A restore is killed in the middle, or just before the checkpoint gets its name, and is continued.",
      outcome: "Modes, times and owner are the same as without the kill, also where files may not be written.",
      test: "worker/restore/restore-attributes.test.ts > a restore that was stopped in the middle and one that was stopped before the rename end with the same",
    },
    {
      situation: "Other users of the machine look into a checkpoint with private files while it is restored.",
      outcome: "Nobody else may enter its folder before its files have their modes.",
      test: "worker/restore/restore-attributes.test.ts > a restore that was stopped in the middle and one that was stopped before the rename end with the same",
    },
    {
      situation: "The target of a restore lies below a file, a link to nowhere, or a folder that may not be entered.",
      outcome: "One sentence names what is in the way; it is no internal error.",
      test: "worker/restore/restore.test.ts > a target below a file or a link to nowhere is refused by the name of what is in the way",
    },
    {
      situation: "Only some files, or single tensors, of a checkpoint are restored.",
      outcome: "What is written has the same modes, times and owner as in a whole restore.",
      test: "worker/restore/restore-attributes.test.ts > a restore of chosen files, and one of chosen tensors, give what they write the same",
    },
    {
      situation: "The folder that a restore replaces has folders without the right to write (mode 0555).",
      outcome: "It is removed when the bucket holds its content, as any other.",
      test: "worker/base/disk/change-disk.test.ts > folders that may not be written are removed with what is in them",
    },
    {
      situation: "The folder that a restore replaces belongs to another user and cannot be removed.",
      outcome: "The restored one is in place; the other stays as .set-aside-<name>, and that is said with the error.",
      test: "worker/restore/placement/layout.test.ts > a replaced folder of another user that cannot be removed is kept aside, and the new one is in place",
    },
    {
      situation: "Folders of a checkpoint have modes of their own: a private one (0700), one of a group (0770).",
      outcome:
        "They are restored with them, without write access for everybody; so are those of a checkpoint in pieces.",
      test: "worker/restore/restore-attributes.test.ts > a restore %s gives folders their modes, also of chosen files and tensors, and over folders that may not be written",
    },
    {
      situation: "A folder of a checkpoint may not be written or entered by its own user (0555, 0111).",
      outcome: "It gets that mode last, when everything in it is in place.",
      test: "worker/restore/placement/give-attributes.test.ts > a folder whose own user may not enter it or write to it gets that mode last",
    },
    {
      situation: "Settings beside a checkpoint have other modes than its files: a private config.yaml.",
      outcome: "They are restored with their own modes.",
      test: "worker/capture/detection/beside.test.ts > what lies beside a checkpoint has modes of its own, also a pointer that is written anew",
    },
  ],
} satisfies Root;
