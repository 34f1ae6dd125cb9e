-- Sealed secrets of jobs.
CREATE TABLE "JobSecret" (
    "jobId" TEXT COLLATE "C" NOT NULL,
    "sealed" TEXT COLLATE "C" NOT NULL,
    "keyVersion" INTEGER NOT NULL,

    CONSTRAINT "JobSecret_pkey" PRIMARY KEY ("jobId")
);
ALTER TABLE "JobSecret" ADD CONSTRAINT "JobSecret_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job"("id") ON DELETE CASCADE ON UPDATE CASCADE;
