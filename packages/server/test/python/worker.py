"""A Holdfast worker in Python, made from the .proto files alone: one task and one workflow, over Attach or unary calls."""
import json
import os
import queue
import sys
import threading

import grpc
from holdfast.v1 import common_pb2, worker_pb2, worker_pb2_grpc


def encode(value):
    return common_pb2.Payload(data=json.dumps(value).encode())


def decode(payload):
    return json.loads(payload.data) if payload.data else None


class Stop(Exception):
    """The run is to be left alone: it sleeps, or waits for a retry."""


class Context:
    """What the code of a workflow gets. It is called from the top each time; what was done before is not done again."""

    def __init__(self, call, token):
        self.call = call
        self.token = token

    def step(self, name, work, **policy):
        begun = self.call("begin_step", worker_pb2.BeginStepRequest(
            task_token=self.token, step_name=name, retry_policy=common_pb2.RetryPolicy(**policy)))
        if not begun.should_execute:
            if begun.HasField("cached_error"):
                raise RuntimeError(begun.cached_error.message)
            return decode(begun.cached_output)
        about = dict(task_token=self.token, step_id=begun.step_id, attempt=begun.attempt)
        try:
            result = work(begun.attempt, begun.idempotency_key)
        except Exception as error:
            failed = self.call("fail_step", worker_pb2.FailStepRequest(
                error=common_pb2.ErrorDetail(message=str(error), metadata={"name": type(error).__name__}), **about))
            if failed.scheduled_retry:
                raise Stop() from error
            raise
        self.call("complete_step", worker_pb2.CompleteStepRequest(output=encode(result), **about))
        return result

    def sleep(self, name, seconds):
        request = worker_pb2.SleepRequest(task_token=self.token, step_id=name)
        request.duration.FromMilliseconds(int(seconds * 1000))
        if not self.call("sleep", request).elapsed:
            raise Stop()


def log(line):
    with open(os.environ["STEP_LOG"], "a") as file:
        file.write(line + "\n")


def order(ctx, input):
    def charge(attempt, key):
        log(f"charge {attempt}")
        if attempt == 1:
            raise ValueError("the bank is closed")
        return {"paid": input["amount"], "key": key}

    paid = ctx.step("charge", charge, maximum_attempts=3, initial_interval_ms=10)
    ctx.sleep("cool-down", 0.05)

    def ship(attempt, key):
        log(f"ship {attempt}")
        if os.environ.get("DIE_IN") == "ship":
            os.kill(os.getpid(), 9)
        return "sent"

    return {"paid": paid["paid"], "parcel": ctx.step("ship", ship)}


def perform(call, work):
    """Executes one task or one run, as far as it goes."""
    token = work.task_token
    try:
        if work.kind == worker_pb2.TASK_KIND_TASK:
            call("complete_task", worker_pb2.CompleteTaskRequest(task_token=token, output=encode(decode(work.input).upper())))
        else:
            result = order(Context(call, token), decode(work.input))
            call("complete_workflow", worker_pb2.CompleteWorkflowRequest(task_token=token, output=encode(result)))
    except Stop:
        pass
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.ABORTED:
            raise


UNARY = {
    "begin_step": "BeginStep", "complete_step": "CompleteStep", "fail_step": "FailStep", "sleep": "Sleep",
    "complete_workflow": "CompleteWorkflow", "complete_task": "CompleteTask", "heartbeat": "Heartbeat",
}


def serve_unary(stub, worker_id):
    def call(name, request):
        return getattr(stub, UNARY[name])(request)

    while True:
        work = stub.PollTask(worker_pb2.PollTaskRequest(worker_id=worker_id))
        if work.run_id:
            perform(call, work)


def serve_attached(stub, worker_id):
    outbox = queue.Queue()
    answers = {}
    numbers = iter(range(1, sys.maxsize))

    def send(name, request):
        number = next(numbers)
        answers[number] = queue.Queue()
        outbox.put(worker_pb2.AttachRequest(call=number, **{name: request}))
        return number

    def call(name, request):
        number = send(name, request)
        answer = answers[number].get()
        del answers[number]
        return getattr(answer, name)

    send("hello", worker_pb2.AttachHello(worker_id=worker_id))
    send("credits", worker_pb2.AttachCredits(more=4))

    def work_on(work):
        perform(call, work)
        send("credits", worker_pb2.AttachCredits(more=1))

    for answer in stub.Attach(iter(outbox.get, None)):
        if answer.HasField("task"):
            threading.Thread(target=work_on, args=(answer.task,), daemon=True).start()
        elif answer.call in answers:
            answers[answer.call].put(answer)


def main(address, how):
    channel = grpc.insecure_channel(address)
    stub = worker_pb2_grpc.WorkerServiceStub(channel)
    registered = stub.Register(worker_pb2.RegisterRequest(
        task_queue="python", task_types=["shout"], workflow_types=["order"], name="snake", lease_secs=5))

    def heartbeat():
        while True:
            threading.Event().wait(registered.heartbeat_interval_secs)
            stub.Heartbeat(worker_pb2.HeartbeatRequest(worker_id=registered.worker_id))

    threading.Thread(target=heartbeat, daemon=True).start()
    print("ready", flush=True)
    (serve_attached if how == "attach" else serve_unary)(stub, registered.worker_id)


main(*sys.argv[1:])
