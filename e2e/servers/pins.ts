/** The exact versions of everything the conformance tests install. */

/** Real servers, built with Go. */
export const SERVER_PINS = {
  versitygw: "github.com/versity/versitygw/cmd/versitygw@v1.8.0",
  minio: "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c",
} as const;

/** Other people's clients: one built with Go, two from Python packages in one environment. */
export const CLIENT_PINS = {
  rclone: "github.com/rclone/rclone@v1.76.0",
  python: ["boto3==1.44.5", "botocore==1.44.5", "s3transfer==0.19.3", "awscli==1.46.3"],
} as const;

export type ServerTool = keyof typeof SERVER_PINS;

/** Clients that only the benchmarks use. */
export const PEER_PINS = {
  /** Its go.mod replaces a dependency, so it is built from a module that requires it and not by name. */
  s5cmd: { module: "github.com/peak/s5cmd/v2", version: "v2.3.0" },
  /** AWS's C runtime, the version that the pinned botocore asks for. */
  awscrt: "awscrt==0.38.0",
} as const;
