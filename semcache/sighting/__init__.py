"""Which answers somebody should look at: seen beside the requests, put into the queue, judged beforehand."""
