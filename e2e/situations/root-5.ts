import type { Root } from "./situation.ts";

export const root = {
  number: 5,
  title: "Stored bytes are the bytes",
  rows: [
    {
      situation: "An object with `Content-Encoding: gzip`, `aws-chunked`, `aws-chunked,gzip`, `br` or `zstd`",
      outcome:
        "`cp` (alone, in a folder, in ranges, inside the store), `sync` and `cat` give its bytes as they are stored.",
      test: "e2e/process/encoded-objects.test.ts > comes as it is stored by %s",
    },
    {
      situation: "A safetensors file with a `Content-Encoding`",
      outcome: "`inspect` and adoption read the header that is stored.",
      test: "e2e/process/encoded-objects.test.ts > is inspected by the bytes that are stored",
    },
    {
      situation: "A link to an object with a `Content-Encoding`, opened in a browser",
      outcome: "The store is asked not to say the encoding, so that the browser saves the bytes as they are stored.",
      test: "e2e/process/encoded-restored.test.ts > an object stored as %s comes as it is stored through a link of the hub",
    },
    {
      situation: "A checkpoint of another tool whose objects have a `Content-Encoding`",
      outcome: "It is registered, gone on from and restored with its bytes as they are stored.",
      test: "e2e/process/encoded-restored.test.ts > a checkpoint whose objects are stored as %s is registered and restored as its bytes are stored",
    },
    {
      situation: "An object with a key of its own (SSE-C)",
      outcome: "It is named at once, in the store's words; all others are fetched. Exit code 8.",
      test: "e2e/process/stored-bytes.test.ts > an object with a key of its own (SSE-C) is named in the store's words and at once, and the others are fetched",
    },
    {
      situation: "An object that is a web page (`Content-Type: text/html`)",
      outcome: "It is no answer of somebody else: `cp`, `sync` and `cat` give it.",
      test: "e2e/process/stored-bytes.test.ts > an object that is a web page is no answer of somebody else: cp, sync and cat give it",
    },
    {
      situation: "An object that the bucket encrypts with a key (SSE-KMS) which the access key may not use",
      outcome: "It is named with the right that lacks (`kms:Decrypt`); all others are fetched. Exit code 8.",
      test: "storage/answers/faults.test.ts > a right that lacks on a key of the bucket is named",
    },
    {
      situation: "An object with an encoding, downloaded by a browser, which would undo it",
      outcome: "The store is asked not to say it, and the bytes come as they are stored.",
      test: "app/_browser-transfers/engine/download-file.test.ts > that is stored as %s comes as it is stored, though the browser would undo it",
    },
    {
      situation: "An object of which the key by which the bucket encrypts (SSE-KMS) is disabled or deleted",
      outcome: "It is named as that, in the words of the store.",
      test: "storage/answers/faults.test.ts > a refusal because of %s says so",
    },
    {
      situation: "An object lock or a policy of the bucket refuses to have an object overwritten",
      outcome: "The reason that the store names is shown.",
      test: "storage/answers/faults.test.ts > a refusal because of %s says so",
    },
    {
      situation: "A link to an archived object",
      outcome: "It is refused, with what to do, before anybody is given the link.",
      test: "server/features/bucket-browser/share-archived.test.ts > an archived object is not shared, nor one that is being restored; one that has been restored is",
    },
    {
      situation: "A proxy that encodes bytes on the way",
      outcome: "It is refused, and the proxy is named as the reason: the length is not that of the object.",
      test: "storage/answers/check-range.test.ts > %s",
    },
    {
      situation: "An archived object (`GLACIER`, `DEEP_ARCHIVE`) among others, in `cp` and `cat`",
      outcome: "It is named as archived, with what to do; all others are fetched. Exit code 8.",
      test: "e2e/process/stored-bytes.test.ts > an archived object is named as that, with what to do, and the others are fetched",
    },
    {
      situation: "A checkpoint of another tool with archived objects",
      outcome: "The list names the first one; registering it is refused with their names, until they are brought back.",
      test: "server/core/checkpoints/external/assert-readable.test.ts > objects in an archive are named, but for those that somebody had brought back; no other is asked for",
    },
    {
      situation: "A rule of the bucket moved a checkpoint's objects to an archive, and somebody restores it",
      outcome:
        "It is refused before it begins, with the files by name and what to do. Files that are not archived can be chosen.",
      test: "server/core/checkpoints/refuse-archived.test.ts > a restore of archived objects is refused before it begins, with the files by name; of others it is not",
    },
    {
      situation: "The same, and a node restores some of its files",
      outcome: "It is told which objects are archived, and refuses only files that lie in them.",
      test: "server/core/checkpoints/refuse-archived.test.ts > a node that may need only some files is told which objects are archived",
    },
    {
      situation: "The same, without a hub: `tidemark restore RUN --to`",
      outcome:
        "Before anything is written the files are named, and the newest checkpoint that can be read is restored in its place.",
      test: "e2e/process/archived.test.ts > falls back to the newest checkpoint that can be read, names the files, and asks for no byte of them",
    },
    {
      situation: "The same, and a person named the step",
      outcome:
        "It is refused before anything is written, with the files by name. `--only` takes files that are not archived.",
      test: "e2e/process/archived.test.ts > of a step that a person names is refused before it writes anything",
    },
    {
      situation: "The same, and a program is to go on from it (`tidemark run --to`)",
      outcome: "It gets the newest checkpoint that can be read, and that is said; one that `--from` names is refused.",
      test: "e2e/process/archived.test.ts > before a program starts gives it the newest step that can be read; one that --from names is refused",
    },
    {
      situation: "The same, with a hub (`tidemark run --hub`)",
      outcome: "As without one.",
      test: "e2e/process/archived-hub.test.ts > a program goes on from the newest checkpoint that can be read, and that is said; one that --from names is refused",
    },
    {
      situation: "A manifest that a rule moved to an archive, in `tidemark runs RUN --to`",
      outcome: "Its checkpoint is listed as unreadable, with what to do; all others are listed as they are.",
      test: "worker/standalone/list-steps.test.ts > an archived manifest is told for its own checkpoint, and the others are listed",
    },
    {
      situation: "Archived objects that somebody has asked the store to restore (`x-amz-restore`)",
      outcome: "While the store works it is said to wait; when it has finished they are read.",
      test: "e2e/process/archived.test.ts > says to wait while the store restores the objects, and reads them when it has",
    },
    {
      situation: "Objects in an archive tier of `INTELLIGENT_TIERING`, which only a HEAD shows",
      outcome:
        "They are found by a HEAD of each object of that class that is large enough for it; `GLACIER_IR` is read directly.",
      test: "e2e/process/archived.test.ts > finds an archive tier of INTELLIGENT_TIERING, and asks about no object that cannot be in one",
    },
    {
      situation: "An object that is archived while it is being restored",
      outcome: "The answer 403 in the middle gives the same sentence, and nothing is put in place.",
      test: "e2e/process/archived.test.ts > that meets an archived object in the middle says the same",
    },
    {
      situation: "Archived objects in a folder that `cp` or `sync` fetches",
      outcome: "Each is named without asking for a byte of it; all others are fetched. Exit code 8.",
      test: "e2e/process/archived.test.ts > by %s names archived objects without asking for a byte of them",
    },
    {
      situation: "A store that says `EncodingType` url and leaves `+` as it is",
      outcome: "The rest of the page, or one small request, tells what its `+` are.",
      test: "e2e/process/stored-bytes.test.ts > a store that says that it encodes names, and leaves plus signs as they are, is understood",
    },
    {
      situation: "The same, in the lists of a hub: pages, versions, unfinished uploads, folders to download, adoption",
      outcome: "Each shows the names that the store has.",
      test: "server/features/bucket-browser/plus-signs.test.ts > every list of a hub reads names in which a plus sign is %j",
    },
  ],
} satisfies Root;
