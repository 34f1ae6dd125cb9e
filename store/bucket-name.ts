/** Returns why a bucket name is invalid, or undefined. Source: the S3 user guide, "Bucket naming rules". */
export function bucketNameProblem(name: string): string | undefined {
  if (name.length < 3 || name.length > 63) return "A bucket name has 3 to 63 characters.";
  if (!/^[a-z0-9][a-z0-9.-]*[a-z0-9]$/.test(name) || name.includes("..")) {
    return "A bucket name has lower-case letters, digits, dots and hyphens only, and starts and ends with a letter or digit.";
  }
  return /^\d+\.\d+\.\d+\.\d+$/.test(name) ? "A bucket name must not look like an IP address." : undefined;
}
