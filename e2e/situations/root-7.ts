import type { Root } from "./situation.ts";

export const root = {
  number: 7,
  title: "The importer",
  rows: [
    {
      situation: "An rclone.conf whose key has quotes, a `$` at its beginning, or ` #` in it",
      outcome: "It is taken as it stands there, as rclone does.",
      test: "storage/import/read-import.test.ts > takes values as they stand there: quotes, a # behind a space and a leading $ are part of a key",
    },
    {
      situation: "Two aliases of one remote, an alias of an alias, an alias before its remote",
      outcome: "One profile for each place.",
      test: "storage/import/read-import.test.ts > gives a profile for each alias of one remote, in whatever order they stand, and for an alias of an alias",
    },
    {
      situation: "A remote of crypt, chunker or compress over S3",
      outcome: "It is named for what it is: only rclone reads what it writes.",
      test: "storage/import/read-import.test.ts > gives a profile for each alias of one remote, in whatever order they stand, and for an alias of an alias",
    },
    {
      situation: "s3cmd's `~/.s3cfg`",
      outcome: "Endpoint, style and key are read.",
      test: "storage/import/read-import.test.ts > of s3cmd give endpoint, style and key",
    },
    {
      situation: "The CSV file of the AWS console",
      outcome: "Its keys are read.",
      test: "storage/import/read-import.test.ts > that the AWS console saved are read, with whatever other columns",
    },
    {
      situation: "JSON of `aws sts`, `aws iam create-access-key`, a metadata service, or `mc`",
      outcome: "It is read; a temporary key is named as that.",
      test: "storage/import/read-import.test.ts > in JSON are read: those of IAM and of mc; those of STS are named as temporary",
    },
    {
      situation: '`[profile "my prof"]` in the AWS files',
      outcome: "It is the profile `my prof` of the credentials file.",
      test: "storage/import/read-import.test.ts > whose profile has a name in quotes are one profile under it",
    },
    {
      situation: "A variable in single quotes with a `$` in it",
      outcome: "It is what stands there; without quotes it is named as coming from elsewhere.",
      test: "storage/import/read-import.test.ts > is what stands there, also with a $ at its beginning; without them it comes from elsewhere",
    },
    {
      situation:
        'Variables as PowerShell (`$Env:`), cmd (`set "X=y"`), fish, csh, a quoted list of compose or a terminal with its prompt write them',
      outcome: "They are read, with the quotes that belong to the shell left out.",
      test: "storage/import/read-import.test.ts > is read as %s writes it",
    },
    {
      situation: "A Secret of Kubernetes",
      outcome: "Its values are decoded from base64 below `data`, and taken as they stand below `stringData`.",
      test: "storage/import/read-import.test.ts > is read from a Secret of Kubernetes as it stands below stringData, and left out where data is no base64",
    },
    {
      situation: "A compose file with `S$$x` as a key: `$$` stands for `$` there",
      outcome: "It is read as compose reads it, and as it stands in any other file of variables.",
      test: "storage/import/read-import.test.ts > has $$ for a $ in the environment of a compose service, and nowhere else",
    },
    {
      situation: "An alias of a folder of the machine (`remote = /data/models`)",
      outcome: "It is named for what it is.",
      test: "storage/import/read-import.test.ts > gives a profile for each alias of one remote, in whatever order they stand, and for an alias of an alias",
    },
    {
      situation: "An endpoint below a path (`https://….supabase.co/storage/v1/s3`)",
      outcome: "It is taken whole, used, and signed with its path.",
      test: "storage/import/read-import.test.ts > has an endpoint below a path, as Supabase has, and takes it whole",
    },
    {
      situation: "A store that answers below a path, in requests",
      outcome: "The path is part of what is asked for and of what is signed.",
      test: "storage/signing/signing.test.ts > keeps the path of an endpoint below which a store answers, for keys and for the bucket",
    },
    {
      situation: "An endpoint of R2 that has the bucket as its path",
      outcome: "The bucket is taken from there, the endpoint is the account's.",
      test: "storage/import/read-import.test.ts > takes the bucket from an alias, from a command, and from R2's own way of writing the address",
    },
    {
      situation: "A config of DVC",
      outcome: "Its remotes on S3 are read with endpoint, bucket and prefix; others are named.",
      test: "storage/import/read-import.test.ts > of DVC's config give endpoint, bucket and prefix",
    },
    {
      situation: "A `.boto` file for another store than AWS",
      outcome: "Its host counts, so that its key is not sent to AWS.",
      test: "storage/import/read-import.test.ts > of a .boto file the host counts, so that its key is not sent to AWS",
    },
    {
      situation: "`MC_HOST_name` of MinIO's client",
      outcome: "The login in the address is the key.",
      test: "storage/import/read-import.test.ts > of MC_HOST_name the login in the address is the key",
    },
    {
      situation: "`RESTIC_REPOSITORY` beside the keys",
      outcome: "Its host, bucket and path belong to these keys.",
      test: "storage/import/read-import.test.ts > of RESTIC_REPOSITORY the host and bucket belong to the keys beside it",
    },
    {
      situation: "The credentials.json of MinIO's console",
      outcome: "Its address and key are read.",
      test: "storage/import/read-import.test.ts > in JSON of MinIO's console are read, whatever path its address has",
    },
    {
      situation: "Text copied from the page of a provider that shows a new key (Cloudflare R2, Backblaze B2)",
      outcome:
        "The key and the address are read, with values behind or below their labels; what the page does not say is named.",
      test: "storage/import/read-import.test.ts > on the page of a provider are read, with their values behind or below the labels",
    },
    {
      situation: "What `rclone config dump` prints",
      outcome: "It is read as rclone.conf is.",
      test: "storage/import/read-import.test.ts > in what rclone config dump prints are read as those of its file",
    },
    {
      situation: "A Secret as `kubectl get secret -o json` prints it, or a list of them",
      outcome: "Its values are read as from YAML.",
      test: "storage/import/read-import.test.ts > in Secrets as kubectl prints them in JSON are read, one or a list of them",
    },
    {
      situation: 'Terraform\'s `backend "s3"` or `provider "aws"` with a key in it',
      outcome: "Key, bucket, region and the endpoint for S3 are read.",
      test: "storage/import/read-import.test.ts > of Terraform's backend or provider are read, with the endpoint for S3",
    },
    {
      situation:
        "The YAML of restic's wrappers, with `repository: s3:https://…` beside keys that are named as those of AWS",
      outcome: "The keys belong to that host, so that they are not sent to AWS.",
      test: "storage/import/read-import.test.ts > of restic's wrappers, which keep the repository in YAML, belong to its host, not to AWS",
    },
    {
      situation: "The JSON file of a service account of Google Cloud, or of a login of gcloud",
      outcome: "It is named as that, with where an HMAC key is made.",
      test: "storage/import/read-import.test.ts > of a service account of Google Cloud are named for what they are",
    },
  ],
} satisfies Root;
