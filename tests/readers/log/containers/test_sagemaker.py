"""SageMaker."""

from container_logs import exit_name, notices, told


def test_the_exit_code_of_the_users_script() -> None:
    assert exit_name("sagemaker") == "SIGSEGV"
    assert notices(told("sagemaker", "sagemaker")) == ["AlgorithmError: ExecuteUserScriptError"]
