import os
import hipq

worker = hipq.Worker(os.environ["HIPQ_CONNINFO"], name="ten", queues=[os.environ["HIPQ_QUEUE"]])

@worker.job("scan")
def scan(job):
    return {"pages": len(job.data["text"])}

worker.run()
