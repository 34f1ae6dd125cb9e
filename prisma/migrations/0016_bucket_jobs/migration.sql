-- Many objects of a bucket copied, moved or deleted by the hub.
-- CreateTable
CREATE TABLE "BucketJob" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "profileId" TEXT NOT NULL,
    "profileName" TEXT NOT NULL,
    "bucket" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "asked" TEXT NOT NULL,
    "plan" TEXT,
    "doneObjects" INTEGER NOT NULL DEFAULT 0,
    "doneBytes" BIGINT NOT NULL DEFAULT 0,
    "failedObjects" INTEGER NOT NULL DEFAULT 0,
    "faults" TEXT NOT NULL DEFAULT '[]',
    "fault" TEXT,
    "actorId" TEXT,
    "startedBy" TEXT NOT NULL,
    "plannedAt" DATETIME NOT NULL,
    "startedAt" DATETIME,
    "endedAt" DATETIME
);

-- CreateTable
CREATE TABLE "BucketJobChunk" (
    "jobId" TEXT NOT NULL,
    "seq" INTEGER NOT NULL,
    "objects" TEXT NOT NULL,

    PRIMARY KEY ("jobId", "seq"),
    CONSTRAINT "BucketJobChunk_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "BucketJob" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE INDEX "BucketJob_state_plannedAt_idx" ON "BucketJob"("state", "plannedAt");

-- CreateIndex
CREATE INDEX "BucketJob_profileId_plannedAt_idx" ON "BucketJob"("profileId", "plannedAt");
