-- Output of the programs of jobs that the bucket keeps.
ALTER TABLE "JobAttempt" ADD COLUMN "logBytes" BIGINT NOT NULL DEFAULT 0;
CREATE TABLE "JobLogPart" (
    "jobId" TEXT NOT NULL,
    "attempt" INTEGER NOT NULL,
    "fromByte" BIGINT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "packedBytes" INTEGER NOT NULL,
    "profileId" TEXT NOT NULL,
    PRIMARY KEY ("jobId", "attempt", "fromByte"),
    CONSTRAINT "JobLogPart_jobId_attempt_fkey" FOREIGN KEY ("jobId", "attempt") REFERENCES "JobAttempt" ("jobId", "attempt") ON DELETE CASCADE ON UPDATE CASCADE
);
