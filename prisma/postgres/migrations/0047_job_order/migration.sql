-- Jobs that are handed out after other jobs.
CREATE TABLE "JobAfter" (
    "jobId" TEXT COLLATE "C" NOT NULL,
    "afterId" TEXT COLLATE "C" NOT NULL,
    "isBroken" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "JobAfter_pkey" PRIMARY KEY ("jobId","afterId")
);
CREATE INDEX "JobAfter_afterId_idx" ON "JobAfter"("afterId");
ALTER TABLE "JobAfter" ADD CONSTRAINT "JobAfter_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "JobAfter" ADD CONSTRAINT "JobAfter_afterId_fkey" FOREIGN KEY ("afterId") REFERENCES "Job"("id") ON DELETE CASCADE ON UPDATE CASCADE;
