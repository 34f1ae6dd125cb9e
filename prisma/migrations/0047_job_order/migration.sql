-- Jobs that are handed out after other jobs.
CREATE TABLE "JobAfter" (
    "jobId" TEXT NOT NULL,
    "afterId" TEXT NOT NULL,
    "isBroken" BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY ("jobId", "afterId"),
    CONSTRAINT "JobAfter_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "JobAfter_afterId_fkey" FOREIGN KEY ("afterId") REFERENCES "Job" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "JobAfter_afterId_idx" ON "JobAfter"("afterId");
