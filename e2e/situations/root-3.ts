import type { Root } from "./situation.ts";

export const root = {
  number: 3,
  title: "One name harms only itself",
  rows: [
    {
      situation:
        "Keys `a//b`, `/a`, with a part of 300 bytes, or with a control character, in `cp` and `sync` from a bucket",
      outcome: "Each is named, as an escape where a terminal would obey it; all others are fetched. Exit code 8.",
      test: "e2e/process/odd-names.test.ts > are counted and named, the others are fetched, and the code is 8",
    },
    {
      situation: "A key that ends in `/` and has content",
      outcome: "It is named as what no disk can hold; all others are fetched. Exit code 8.",
      test: "e2e/process/odd-names.test.ts > are counted and named, the others are fetched, and the code is 8",
    },
    {
      situation:
        "A key of 900 bytes; a backslash, `C:/x`, `aux.c`, a dot or a space at the end of a name; names that differ in case or in NFC and NFD alone",
      outcome: "They are ordinary names on Linux and go both ways.",
      test: "e2e/process/odd-names.test.ts > of 900 bytes, with a backslash, a colon, aux.c, a dot or a space at the end, or another case are ordinary",
    },
    {
      situation: "A folder `...` or `..a`, a name that looks like a flag (`-rf`), a URL escape (`a%2Fb`) or a glob",
      outcome: "They are ordinary names and go both ways.",
      test: "e2e/process/odd-names.test.ts > of 900 bytes, with a backslash, a colon, aux.c, a dot or a space at the end, or another case are ordinary",
    },
    {
      situation: "A checkpoint whose own name fills the limit of the disk (255 bytes)",
      outcome:
        "It is restored over another one and set aside: names that are made from it are cut and told apart by a hash.",
      test: "worker/restore/placement/set-aside.test.ts > a checkpoint whose name fills the limit of the disk is put in place over another, and is set aside",
    },
    {
      situation: "Names that differ in case alone, on a disk that takes them for one (exFAT, NTFS, a share of a Mac)",
      outcome: "The disk is tried first. A copy and a restore name the later ones, and the others go on.",
      test: "worker/restore/restore.test.ts > names that differ in case alone, or that the disk refuses, are found where the disk says so, and it is asked for no others",
    },
    {
      situation: "A restore with a name that the disk cannot hold (a colon on exFAT, 144 bytes on an encrypted disk)",
      outcome:
        "Asked for by a person, all others are put in place and it is named, on the page and with exit code 8. A program does not go on from such a one: that is refused with the name.",
      test: "worker/restore/restore.test.ts > a name that the disk cannot hold is left out and named where a person asked for it, and refuses all of it else",
    },
    {
      situation: "A checkpoint with files `a\\b`, `aux.c`, `README` beside `readme`",
      outcome: "It is captured as it is.",
      test: "worker/capture/snapshot.test.ts > names that are ordinary on Linux are captured, those that differ in case alone too",
    },
    {
      situation: "A checkpoint with a control character in one of its names",
      outcome: "The rest is kept safe, and the checkpoint is doubtful: the name is said as an escape.",
      test: "worker/capture/snapshot.test.ts > of a name with a control character the rest is kept, and it is told by name, as an escape",
    },
    {
      situation: "A checkpoint in which no name is possible",
      outcome: "It is refused by its first name; checkpoints beside it are captured all the same.",
      test: "worker/capture/keep-capturing.test.ts > when the newest cannot be taken, the one before it is not passed over for it",
    },
    {
      situation: "A key that is not valid UTF-8, on the bucket's page",
      outcome: "All other rows are shown, and it is named below them.",
      test: "storage/s3/browse.test.ts > tells names that are no UTF-8 apart where somebody looks, and refuses them where all objects are meant",
    },
    {
      situation:
        "A version, a deleted object, an unfinished upload, or an object in a searched or downloaded folder whose key is not valid UTF-8",
      outcome:
        "It is counted and named below the list, in the sums, the search and the download; all others are shown, also where a page of the listing ends with it.",
      test: "server/features/bucket-browser/unreadable-names.test.ts > versions and unfinished uploads are listed without them, and they are said",
    },
    {
      situation: "A listing that names a key twice",
      outcome: "It counts once.",
      test: "e2e/process/odd-names.test.ts > a listing that names a key twice is read as if it named it once",
    },
    {
      situation: "A listing that names a key again later (the end of a page on the next page, a page that goes back)",
      outcome:
        "It counts once in `ls`, `cp`, `sync` and `rm`, whether the store sorts or not, and the last sentence and `leftOut` of `--json` say how many came again.",
      test: "e2e/process/odd-names.test.ts > a key that comes again on a later page counts once in ls, cp, sync and rm, and it is said",
    },
    {
      situation: "The same on the hub: a folder, its sums, a search, a download, the plan of a deletion",
      outcome: "Each object has one row and counts once, and the sums say how many came again.",
      test: "server/features/bucket-browser/repeated-names.test.ts > pages of a folder have each row once, over the calls of a browser too",
    },
    {
      situation: "An object `model` beside `model/config.json`",
      outcome: "What lies in the folder is fetched, `model` is named. Exit code 8.",
      test: "e2e/process/odd-names.test.ts > and a file beside the folder of its name: the folder's files are fetched, the file is named",
    },
    {
      situation: "A file of this machine lies where a folder of keys is to go",
      outcome: "What would go there is named, all others are fetched. Exit code 8.",
      test: "e2e/process/odd-names.test.ts > and what lies where a file of this machine is in the way is named; the others are fetched",
    },
    {
      situation: "`cp` or `sync` of a folder in which every single file or key fails",
      outcome:
        "Each is named, exit code 8, as where some of them fail. A file or an object that is named itself, a missing bucket or a dead link end it with their own codes.",
      test: "e2e/process/verbs.test.ts > when every single name failed the code is 8 too, for one file of a folder and for sync; of a file that is named itself it says why",
    },
    {
      situation: "`cp s3://b/model0 dir` where the empty object `model0` stands for the folder `model0/`",
      outcome:
        "The folder is copied, and the last sentence says that the mark is left out. `cat` and `inspect`, which take one object, refuse it and say why.",
      test: "e2e/process/odd-names.test.ts > and an empty object that is named itself stands for its folder where there is one",
    },
    {
      situation: "An empty object `model0` that stands for the folder `model0/`, or `dir/`",
      outcome: "It is left out, and the last sentence says so.",
      test: "e2e/process/odd-names.test.ts > an empty object that stands for a folder is left out, and said",
    },
    {
      situation: "A key that is not valid UTF-8",
      outcome: "It is named in `ls`, `cp`, `sync` and `rm`; all others are listed and moved. Exit code 8.",
      test: "e2e/process/odd-names.test.ts > a key that is not valid UTF-8 is named, and the others are listed and fetched",
    },
    {
      situation: "A file whose name is not valid UTF-8, or has a control character",
      outcome: "It is named; all others are sent. Exit code 8.",
      test: "e2e/process/odd-names.test.ts > a file whose name is not valid UTF-8, and one with a control character, are named; the others are sent",
    },
    {
      situation: "Terminal escapes and marks that turn writing around, in keys, files and folders",
      outcome: "They are written as escapes in every sentence and in `--json`, where they are valid JSON.",
      test: "e2e/process/odd-names.test.ts > nothing in a name reaches a terminal or a line of --json that it would obey",
    },
    {
      situation: "A key with `.` or `..` as a segment (`a/../b`), which a URL would turn into another key",
      outcome:
        "`ls` lists it, `cp`, `cat` and `presign` refuse it by name, and `rm` removes it by a request that names it in its body. The other key is never touched.",
      test: "e2e/process/odd-names.test.ts > a key with . or .. as a segment is removed by its name, and never the one to which a URL would lead",
    },
    {
      situation:
        "`sync --delete` onto a disk that takes names for one that differ in case or accents, where DST has the other spelling",
      outcome: "The file that was just written is not removed as too much.",
      test: "worker/object-copy/delete-extra.test.ts > on a disk that takes names for one that differ in case or accents, what was just copied is not removed",
    },
    {
      situation: "`rm --recursive` and `sync --delete` where one key of many has a control character",
      outcome: "That one is deleted by a request of its own, the others a thousand at a time.",
      test: "e2e/process/odd-names.test.ts > of many keys one with a control character is deleted by a request of its own, the others together",
    },
    {
      situation:
        "A name with a line break, in any sentence, row or result of the worker and of the hub's command line.",
      outcome:
        "What is written is lines by its type, and a break inside of one is an escape; so it is in the subject and the detail of every error.",
      test: "worker/command-line/terminal.test.ts > a name with a line break begins no line of its own, in whatever is written",
    },
    {
      situation: "A name in a watched folder has a line break, and what follows reads like a sentence of the worker.",
      outcome: "The break is escaped in what is said of files that were not taken, set aside or left, and in `doctor`.",
      test: "worker/agent/messages/capture-messages.test.ts > a name with a line break makes no line of its own in what is said of what was not taken",
    },
  ],
} satisfies Root;
